import { parseRedisUrl, RedisUrlError } from '#addresses';
import { accessSync, constants } from 'node:fs';
import { isIP } from 'node:net';

/** The apps of Tollgate, by the names of their folders. */
export const APPS = ['rules-api', 'preloader', 'gateway', 'decision-api'] as const;
export type App = (typeof APPS)[number];

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Thrown by a variable's `parse`; the message says what was expected. */
export class ExpectationError extends Error {}

export interface Variable<T> {
  readonly name: string;
  /** The apps that read it; the others ignore it. */
  readonly apps: readonly App[];
  /** The text that is used if the variable is unset or empty. Without a default the variable is required. */
  readonly default?: string;
  /** The key of the variable whose value is used if this one is unset. */
  readonly defaultFrom?: string;
  /** The variable is required if the list that another one holds has this. */
  readonly requiredIf?: { readonly key: string; readonly has: string };
  /** The variable is required if this other one is not set. */
  readonly requiredUnless?: string;
  /** The value is never printed, not even if it is wrong. */
  readonly secret?: boolean;
  readonly meaning: string;
  /** Turns the text into the value or throws an ExpectationError. */
  readonly parse: (text: string) => T;
}

/** @throws ExpectationError */
export function expected(what: string): never {
  throw new ExpectationError(what);
}

export function wholeNumber(min: number, max: number, unit = '') {
  return (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    return value >= min && value <= max ? value : expected(`a whole number from ${min} to ${max}${unit}`);
  };
}

/** A number above which something is too much. */
export function factor(text: string): number {
  const value = /^\d{1,4}(\.\d{1,3})?$/.test(text) ? Number(text) : NaN;
  return value >= 1 && value <= 1000 ? value : expected('a number from 1 to 1000 with at most three decimals');
}

/** 0 turns something off; every other value is bounded. */
export function zeroOr(min: number, max: number, unit = '') {
  const number = wholeNumber(0, max, unit);
  return (text: string): number => {
    const value = number(text);
    return value === 0 || value >= min ? value : expected(`0 or a whole number from ${min} to ${max}${unit}`);
  };
}

export function oneOf<T extends string>(values: readonly T[]) {
  return (text: string): T => values.find((value) => value === text) ?? expected(`one of ${values.join(', ')}`);
}

export function storeUrl(protocols: readonly string[], example: string) {
  return (text: string): string => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    return url && protocols.includes(url.protocol) && url.hostname + url.search !== '' ? text : expected(`a URL like ${example}`);
  };
}

/** One Redis, a Sentinel group or a cluster. The files that it names can be read. */
export function redisUrl(text: string): string {
  try {
    const { tls } = parseRedisUrl(text);
    for (const file of [tls?.caFile, tls?.certFile, tls?.keyFile]) if (file !== undefined) accessSync(file, constants.R_OK);
    return text;
  } catch (error) {
    if (error instanceof RedisUrlError) return expected(error.message);
    const { path, code } = error as NodeJS.ErrnoException;
    return expected(`files that can be read: ${path} cannot be (${code})`);
  }
}

/** Where Redis may be left out. */
export function optionalRedisUrl(text: string): string | undefined {
  return text === '' ? undefined : redisUrl(text);
}

export function adminToken(text: string): string {
  return /^[\x21-\x7e]{16,512}$/.test(text) ? text : expected('16 to 512 visible ASCII characters without spaces');
}

/** A token that may be left out. */
export function optionalToken(text: string): string | undefined {
  return text === '' ? undefined : adminToken(text);
}

/** What the URIs of problem types begin with. */
export function problemTypeBase(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const fits = url && ['http:', 'https:'].includes(url.protocol) && url.search + url.hash + url.username + url.password === '';
  if (!fits) return expected('a URL like https://docs.example/problems/, without query and fragment');
  return url.href.endsWith('/') ? url.href : `${url.href}/`;
}

/** Where clients reach a server, without a slash at the end. */
export function publicUrl(text: string): string | undefined {
  if (text === '') return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const fits = url && ['http:', 'https:'].includes(url.protocol) && url.search + url.hash + url.username + url.password === '';
  return fits ? url.href.replace(/\/+$/, '') : expected('a URL like https://limits.example.com, without query and fragment');
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/** Whether nobody on the way can read or change what is fetched from there: https, or this machine. */
export function isSecureUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && (url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.includes(url.hostname)));
}

/** It is compared as it is written, so that nothing of it is changed. */
export function oidcIssuer(text: string): string | undefined {
  if (text === '') return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url && isSecureUrl(text) && url.search + url.hash + url.username + url.password === ''
    ? text
    : expected('an https URL like https://login.example.com/realms/ops, without query and fragment; http only of this machine');
}

/** A name that another system has chosen. */
export function visibleText(text: string): string {
  return /^[\x21-\x7e]{1,255}$/.test(text) ? text : expected('1 to 255 visible ASCII characters without spaces');
}

/** Such a name, or none. */
export function optionalVisibleText(text: string): string | undefined {
  return text === '' ? undefined : visibleText(text);
}

/** An address or a name of this machine. Only its form is checked; listening fails if it belongs to another machine. */
export function host(text: string): string {
  return isIP(text) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(text)
    ? text
    : expected('an address or a name of this machine like 127.0.0.1, ::1, or 0.0.0.0 for all');
}

export const port = wholeNumber(0, 65_535);
