import { isPlainObject } from './field-faults.js';
import { isMerchantId } from './merchant-id.js';
import { LAYERS, type Layer, type Rule } from './rule.js';
import { UnreadableError } from './stored-value.js';

/** `kill` limits nobody; `shadow` goes on counting and refuses nobody. */
export const SWITCH_NAMES = ['kill', 'shadow'] as const;
export type SwitchName = (typeof SWITCH_NAMES)[number];

/** Something that an operator has switched on: for everything, for a layer, for a merchant, or for a layer of a merchant. */
export interface Switch {
  readonly name: SwitchName;
  /** Null: all layers. */
  readonly layer: Layer | null;
  /** Null: all merchants. */
  readonly merchantId: string | null;
  /** When it ends by itself, in milliseconds since 1970; null: when somebody switches it off. */
  readonly untilMs: number | null;
}

/** Longer than this nothing stays switched on that was given an end: what is forgotten for a year has become the rule. Milliseconds. */
const LONGEST_SWITCH_MS = 366 * 86_400_000;

/** So many may be on at once, because every snapshot of the default rules carries them. */
export const MOST_SWITCHES = 100;

/** Whether a switch has not ended by itself. */
export function isOn({ untilMs }: Pick<Switch, 'untilMs'>, nowMs: number): boolean {
  return untilMs === null || untilMs > nowMs;
}

/** Whether a switch may end then. */
export function isSwitchEnd(untilMs: number, nowMs: number): boolean {
  return untilMs > nowMs && untilMs <= nowMs + LONGEST_SWITCH_MS;
}

/** What is wrong with another end. */
export const SWITCH_END_EXPECTED = 'must be in the future and at most a year away';

/** Those that concern a merchant. */
export function switchesOf(switches: readonly Switch[], merchantId: string): readonly Switch[] {
  return switches.filter((each) => each.merchantId === null || each.merchantId === merchantId);
}

/** What is made of a list of rules, by what concerns it. A list that is no longer in use goes, and all that was made of it. */
const MADE = new WeakMap<readonly Rule[], Map<string, readonly Rule[]>>();

/**
 * The rules as the switches leave them: the same list if none concerns it, and the same list again for the same switches, so that what is compiled of it
 * goes on being shared.
 */
export function switchedRules(rules: readonly Rule[], switches: readonly Switch[], merchantId: string): readonly Rule[] {
  const concerning = switchesOf(switches, merchantId);
  if (concerning.length === 0) return rules;
  const key = LAYERS.map((layer) => stateOf(layer, concerning)).join();
  let made = MADE.get(rules);
  if (made === undefined) {
    made = new Map<string, readonly Rule[]>();
    MADE.set(rules, made);
  }
  let switched = made.get(key);
  if (switched === undefined) made.set(key, (switched = rules.flatMap((rule) => switchedRule(rule, concerning))));
  return switched;
}

/** Whether a switch for all layers concerns this merchant: then nothing may be refused for the sake of a rule that cannot be read. */
export function refusesNothing(switches: readonly Switch[], merchantId: string): boolean {
  return switchesOf(switches, merchantId).some(({ layer }) => layer === null);
}

function switchedRule(rule: Rule, switches: readonly Switch[]): readonly Rule[] {
  const state = stateOf(rule.layer, switches);
  if (state === 'kill') return [];
  return [state === 'shadow' ? { ...rule, mode: 'shadow' } : rule];
}

/** A layer that is both does nothing. */
function stateOf(layer: Layer, switches: readonly Switch[]): SwitchName | 'on' {
  const names = switches.filter((each) => each.layer === null || each.layer === layer).map(({ name }) => name);
  return SWITCH_NAMES.find((name) => names.includes(name)) ?? 'on';
}

/**
 * Switches as they stand in a snapshot. One of a name or a layer that is not known here, which a newer version has written, is left out.
 * @throws UnreadableError
 */
export function storedSwitches(value: unknown): Switch[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > MOST_SWITCHES) throw new UnreadableError('switches: must be a short list');
  return value.flatMap((each: unknown): Switch[] => {
    if (!isPlainObject(each)) throw new UnreadableError('switches: must be objects');
    const { name, layer, merchantId, untilMs } = each;
    if (merchantId !== null && !isMerchantId(merchantId)) throw new UnreadableError('switches: merchantId must be one, or null');
    if (untilMs !== null && !Number.isSafeInteger(untilMs)) throw new UnreadableError('switches: untilMs must be a time, or null');
    if (!isOneOf(SWITCH_NAMES, name) || (layer !== null && !isOneOf(LAYERS, layer))) return [];
    return [{ name, layer, merchantId, untilMs: untilMs as number | null }];
  });
}

function isOneOf<T extends string>(values: readonly T[], value: unknown): value is T {
  return (values as readonly unknown[]).includes(value);
}
