import { isPlainObject, shown } from '#limiter';
import type { Place, Reader } from './reader.js';

/** What a file of envoyproxy/ratelimit says, checked. */
export interface RatelimitFile {
  readonly domain: string;
  readonly descriptors: readonly ConfiguredDescriptor[];
}

/** A node of the tree: it concerns descriptors whose next entry has the key, and the value if there is one. */
export interface ConfiguredDescriptor {
  readonly pointer: Place;
  readonly key: string;
  /** Undefined: any. A star stands for any text. */
  readonly value: string | undefined;
  /** Of descriptors that end here. */
  readonly limit: ConfiguredLimit | undefined;
  readonly shadow: boolean;
  /** Whether all values that fit a star have one budget. */
  readonly isShared: boolean;
  readonly descriptors: readonly ConfiguredDescriptor[];
}

export interface ConfiguredLimit {
  readonly name: string | undefined;
  readonly unit: string;
  readonly windowMs: number;
  readonly requests: number;
  /** Names of limits that do not count in calls to which this one applies. */
  readonly replaces: readonly string[];
}

const SECOND_MS = 1000;
const DAY_MS = 86_400 * SECOND_MS;

/** As envoyproxy/ratelimit counts them: all windows have one length, and follow one another from 1970 on. */
const UNITS: ReadonlyMap<string, number> = new Map([
  ['second', SECOND_MS],
  ['minute', 60 * SECOND_MS],
  ['hour', 3600 * SECOND_MS],
  ['day', DAY_MS],
  ['week', 7 * DAY_MS],
  ['month', 30 * DAY_MS],
  ['year', 365 * DAY_MS],
]);

/** What a rule can hold: see CAPACITY and INTERVAL_MS of the limiter. */
const MOST_REQUESTS = 1_000_000_000;
const LONGEST_WINDOW_MS = 366 * DAY_MS;
/** Far beyond what anybody writes by hand. */
const MOST_LEVELS = 16;
const LONGEST_DOMAIN = 63;

const ROOT_FIELDS = ['domain', 'descriptors', 'name'] as const;
const DESCRIPTOR_FIELDS = [
  'key',
  'value',
  'rate_limit',
  'descriptors',
  'shadow_mode',
  'share_threshold',
  'quota_mode',
  'metadata',
  // Of these only the metrics of the other service knew.
  'detailed_metric',
  'value_to_metric',
] as const;
const LIMIT_FIELDS = ['unit', 'unit_multiplier', 'requests_per_unit', 'unlimited', 'name', 'replaces'] as const;

/** Checks a file whose scalars have been left as they are written. @returns nothing if it has faults: the reader has them */
export function readRatelimitFile(content: unknown, reader: Reader): RatelimitFile {
  const root = reader.object(content, '', ROOT_FIELDS);
  const domain = reader.text(root['domain'], '/domain', 'the domain');
  if (domain.length > LONGEST_DOMAIN || /\p{Cc}|^\s|\s$/u.test(domain) || domain === '.' || domain === '..')
    reader.fault('/domain', `must be a text of 1 to ${LONGEST_DOMAIN} characters in one line: it becomes the id of a merchant and a label`);
  return { domain, descriptors: descriptorsIn(root['descriptors'], '/descriptors', reader, 1) };
}

function descriptorsIn(value: unknown, pointer: Place, reader: Reader, level: number): ConfiguredDescriptor[] {
  const list = reader.list(value, pointer);
  if (list.length > 0 && level > MOST_LEVELS) {
    reader.fault(pointer, `is nested deeper than ${MOST_LEVELS} levels`);
    return [];
  }
  const known = new Set<string>();
  return list.map((item, i) => {
    const descriptor = descriptorIn(item, `${pointer}/${i}`, reader, level);
    const { key, value: its = '' } = descriptor;
    const name = JSON.stringify([key, its]);
    if (known.has(name)) reader.fault(descriptor.pointer, `stands in the list twice: ${shown(its === '' ? key : `${key} ${its}`)}`);
    known.add(name);
    return descriptor;
  });
}

function descriptorIn(item: unknown, pointer: Place, reader: Reader, level: number): ConfiguredDescriptor {
  const fields = reader.object(item, pointer, DESCRIPTOR_FIELDS);
  const key = reader.text(fields['key'], `${pointer}/key`, 'the key');
  // There such a key stands for all keys and values, written behind one another, that begin like it.
  if (key.includes('*')) reader.fault(`${pointer}/key`, 'cannot be translated: only a value may have a star');
  const value = reader.optionalText(fields['value'], `${pointer}/value`);
  if (reader.truth(fields['quota_mode'], `${pointer}/quota_mode`))
    reader.fault(`${pointer}/quota_mode`, 'cannot be translated: Tollgate gives no quotas to Envoy');
  // It is only told to Envoy, and only where that service is set to tell it.
  if (fields['metadata'] !== undefined)
    reader.fault(
      `${pointer}/metadata`,
      'cannot be translated: Tollgate answers no dynamic metadata; remove it if RESPONSE_DYNAMIC_METADATA is not set',
    );
  for (const name of ['detailed_metric', 'value_to_metric'] as const) reader.truth(fields[name], `${pointer}/${name}`);
  return {
    pointer,
    key,
    value,
    limit: limitIn(fields['rate_limit'], `${pointer}/rate_limit`, reader),
    shadow: reader.truth(fields['shadow_mode'], `${pointer}/shadow_mode`),
    isShared: reader.truth(fields['share_threshold'], `${pointer}/share_threshold`),
    descriptors: descriptorsIn(fields['descriptors'], `${pointer}/descriptors`, reader, level + 1),
  };
}

/** Undefined if there is none, or one that limits nothing. */
function limitIn(value: unknown, pointer: Place, reader: Reader): ConfiguredLimit | undefined {
  if (value === undefined || value === '') return undefined;
  const fields = reader.object(value, pointer, LIMIT_FIELDS);
  if (reader.truth(fields['unlimited'], `${pointer}/unlimited`)) {
    for (const other of ['unit', 'replaces'].filter((each) => fields[each] !== undefined))
      reader.fault(`${pointer}/${other}`, 'must not be given beside unlimited');
    return undefined;
  }
  const name = reader.optionalText(fields['name'], `${pointer}/name`);
  const unit = reader.text(fields['unit'], `${pointer}/unit`, 'the unit').toLowerCase();
  return {
    name,
    unit,
    windowMs: windowOf(unit, fields['unit_multiplier'], pointer, reader),
    requests: reader.wholeNumber(fields['requests_per_unit'], `${pointer}/requests_per_unit`, { min: 0, max: MOST_REQUESTS }),
    replaces: replacesIn(fields['replaces'], name, `${pointer}/replaces`, reader),
  };
}

function windowOf(unit: string, multiplier: unknown, pointer: Place, reader: Reader): number {
  const unitMs = UNITS.get(unit);
  if (unitMs === undefined) {
    if (unit !== '') reader.fault(`${pointer}/unit`, `must be one of ${[...UNITS.keys()].join(', ')}, got ${shown(unit)}`);
    return SECOND_MS;
  }
  if (multiplier === undefined) return unitMs;
  const most = Math.floor(LONGEST_WINDOW_MS / unitMs);
  return unitMs * reader.wholeNumber(multiplier, `${pointer}/unit_multiplier`, { min: 1, max: most });
}

function replacesIn(value: unknown, own: string | undefined, pointer: Place, reader: Reader): string[] {
  return reader.list(value, pointer).map((item, i) => {
    const place = `${pointer}/${i}`;
    const { name } = isPlainObject(item) ? reader.object(item, place, ['name']) : { name: item };
    const replaced = reader.text(name, `${place}/name`, 'the name of the limit that is replaced');
    if (replaced !== '' && replaced === own) reader.fault(`${place}/name`, 'must not be the name of the same limit');
    return replaced;
  });
}
