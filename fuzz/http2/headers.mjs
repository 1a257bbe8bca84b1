/** The headers of a request, and its body: most of them good, some of them odd. */
import {
  BODIES,
  METHODS,
  ODD_METHODS as ODD_METHODS_OF_HTTP1,
  ODD_TARGETS as ODD_TARGETS_OF_HTTP1,
  TARGETS as TARGETS_OF_HTTP1,
} from '../http1/words.mjs';
import { AUTHORITIES, ODD, ODD_METHODS, ODD_TARGETS, ODD_TRAILERS, PLAIN, SCHEMES, TARGETS, TRAILERS } from './words.mjs';

/**
 * @typedef {import('./hpack.mjs').Field} Field
 * @typedef {import('../shared/random.mjs').Random} Random
 */

const ALL_TARGETS = [...TARGETS_OF_HTTP1, ...TARGETS];
const ALL_ODD_TARGETS = [...ODD_TARGETS_OF_HTTP1, ...ODD_TARGETS];
const ALL_ODD_METHODS = [...ODD_METHODS_OF_HTTP1, ...ODD_METHODS];
/** @type {readonly Field[]} */
const KNOWN = [
  ['expect', '100-continue'],
  ['x-merchant-id', 'acme'],
  ['x-forwarded-for', '192.0.2.7'],
  ['x-request-id', 'r-2'],
  ['te', 'trailers'],
  ['host', 'x'],
];

/** @param {Random} random @param {() => boolean} isOdd @returns {{ fields: Field[], body: string | undefined }} without a body: the headers end the stream */
export function headersOf(random, isOdd) {
  const pseudo = pseudoOf(random, isOdd);
  const body = random.chance(0.5) ? random.of(BODIES) : undefined;
  /** @type {Field[]} */
  const fields = Array.from({ length: random.below(3) }, () => random.of(PLAIN));
  if (body !== undefined && random.chance(0.5))
    fields.push(['content-length', String(isOdd() ? body.length + random.of([-1, 1, 7]) : body.length)]);
  if (random.chance(0.2)) fields.push(random.of(KNOWN));
  while (isOdd()) fields.push(random.of(ODD));
  shuffle(fields, random);
  return { fields: isOdd() ? misplaced(pseudo, fields, random) : [...pseudo, ...fields], body };
}

/** @param {Random} random @param {() => boolean} isOdd @returns {Field[]} */
export function trailersOf(random, isOdd) {
  return Array.from({ length: 1 + random.below(2) }, () => random.of(isOdd() || random.chance(0.1) ? ODD_TRAILERS : TRAILERS));
}

/** @param {Random} random @param {() => boolean} isOdd @returns {Field[]} */
function pseudoOf(random, isOdd) {
  /** @type {Field[]} */
  const pseudo = [
    [':method', random.of(isOdd() ? ALL_ODD_METHODS : METHODS)],
    [':scheme', isOdd() ? random.of(SCHEMES) : 'https'],
    [':path', random.of(isOdd() ? ALL_ODD_TARGETS : ALL_TARGETS)],
    [':authority', isOdd() ? random.of(AUTHORITIES) : 'x'],
  ];
  if (random.chance(0.3)) shuffle(pseudo, random);
  if (isOdd()) pseudo.splice(random.below(pseudo.length), 1);
  if (isOdd()) pseudo.push(random.of(pseudo));
  return pseudo;
}

/** One of the pseudo-headers stands among the others. @param {Field[]} pseudo @param {Field[]} fields @param {Random} random */
function misplaced(pseudo, fields, random) {
  const all = [...pseudo, ...fields];
  const [moved] = all.splice(random.below(pseudo.length), 1);
  if (moved !== undefined) all.splice(random.below(all.length + 1), 0, moved);
  return all;
}

/** @param {Field[]} all @param {Random} random */
function shuffle(all, random) {
  for (let i = all.length - 1; i > 0; i--) {
    const other = random.below(i + 1);
    [all[i], all[other]] = [/** @type {Field} */ (all[other]), /** @type {Field} */ (all[i])];
  }
}
