import type { TextFormat } from './field.js';
import { MAX_PATTERN_LENGTH, pathPatternFault } from '../matching/path-pattern.js';
import { isTimeZone, TIME_ZONE_PATTERN } from './time-zone.js';

/** A text that is right or wrong as a whole. */
export function textFormat(expected: string, fits: (text: string) => boolean, schema: TextFormat['schema']): TextFormat {
  return { expected, fault: (text) => (fits(text) ? undefined : expected), schema };
}

const LIMIT_NAME_PATTERN = /^[A-Za-z0-9](?:[A-Za-z0-9 ._-]*[A-Za-z0-9])?$/;
export const LIMIT_NAME_MAX_LENGTH = 64;

/** It stands in headers, so it is plain ASCII. */
export const LIMIT_NAME = textFormat(
  `must be 1 to ${LIMIT_NAME_MAX_LENGTH} letters, digits, spaces, '.', '_' or '-'`,
  (text) => text.length <= LIMIT_NAME_MAX_LENGTH && LIMIT_NAME_PATTERN.test(text),
  { maxLength: LIMIT_NAME_MAX_LENGTH, pattern: LIMIT_NAME_PATTERN.source },
);

export const TIME_ZONE = textFormat('must be an IANA time zone like Europe/Berlin', isTimeZone, { pattern: TIME_ZONE_PATTERN.source });

const ROUTE_NAME_PATTERN = /^[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?$/;

/** It stands in headers, in metrics and in the log. */
export const ROUTE_NAME = textFormat('must be 1 to 63 small letters, digits, - or _', (text) => ROUTE_NAME_PATTERN.test(text), {
  pattern: ROUTE_NAME_PATTERN.source,
});

const METHOD_PATTERN = /^[A-Z][A-Z-]{0,31}$/;

export const HTTP_METHOD = textFormat('must be an HTTP method in capitals like POST', (text) => METHOD_PATTERN.test(text), {
  pattern: METHOD_PATTERN.source,
});

/** A schema cannot say where wildcards may stand. */
export const PATH_PATTERN: TextFormat = {
  expected: 'must be a path pattern like /transactions/**',
  fault: (text) => (text.isWellFormed() ? pathPatternFault(text) : PATH_PATTERN.expected),
  schema: { maxLength: MAX_PATTERN_LENGTH, pattern: '^/[^?#\\s\\u0000-\\u001f\\u007f-\\u009f]*$' },
};

/** Text that people read: one line, and nothing invisible at its ends. */
export function line(maxLength: number): TextFormat {
  return textFormat(
    `must be a text of 1 to ${maxLength} characters, without control characters, no space at either end`,
    (text) => text.length >= 1 && text.length <= maxLength && text.isWellFormed() && !/\p{Cc}|^\s|\s$/u.test(text),
    { minLength: 1, maxLength, pattern: LINE_PATTERN },
  );
}

/** `line` for schemas, whose patterns need not know the classes of Unicode. */
export const LINE_PATTERN = '^(?!\\s)[^\\u0000-\\u001f\\u007f-\\u009f]+(?<!\\s)$';
