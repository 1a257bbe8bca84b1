/** Cases: what a client might send on one connection, mostly HTTP/1.1, and each with a few things that servers have been known to read differently. */
import { Random } from '../shared/random.mjs';
import {
  METHODS,
  ODD_METHODS,
  TARGETS,
  ODD_TARGETS,
  VERSIONS,
  EOLS,
  COLONS,
  PLAIN,
  ODD,
  BODIES,
  CHUNK_SIZES,
  ODD_CHUNK_SIZES,
  TRAILERS,
  GARBAGE,
  BYTES,
} from './words.mjs';

/** @typedef {import('../shared/fuzz.mjs').AnyCase} Case */

/** @param {number} seed @returns {Case} */
export function caseOf(seed) {
  const random = new Random(seed);
  // Most cases have one thing that is odd: with many of them the first is all that is looked at.
  const oddness = random.of([0, 0.01, 0.03, 0.03, 0.06, 0.15]);
  /** @type {string[]} */
  const pieces = [];
  do pieces.push(...requestPieces(random, oddness));
  while (pieces.length < 60 && random.chance(0.5));
  if (random.chance(0.1)) pieces.push(random.of(GARBAGE));
  if (random.chance(0.03)) pieces.unshift(random.of(GARBAGE));
  return {
    pieces: random.chance(0.15) ? spoilt(pieces, random) : pieces,
    writes: random.chance(0.3) ? 2 + random.below(4) : 1,
    admission: random.of(/** @type {const} */ (['forward', 'forward', 'later', 'read_body', 'refuse'])),
    trusted: random.chance(0.7),
  };
}

/** @param {Random} random @param {number} oddness how probable it is of each part that it is odd */
function requestPieces(random, oddness) {
  const isOdd = () => random.chance(oddness);
  const eol = () => (isOdd() ? random.of(EOLS) : '\r\n');
  const method = isOdd() ? random.of(ODD_METHODS) : random.of(METHODS);
  const target = isOdd() ? random.of(ODD_TARGETS) : random.of(TARGETS);
  const pieces = [method, isOdd() ? random.of(['  ', '\t', '\x0b', '']) : ' ', target, isOdd() ? random.of(['  ', '\t', '']) : ' '];
  pieces.push(isOdd() ? random.of(VERSIONS) : 'HTTP/1.1', eol());
  const { headers, body } = framed(random, isOdd);
  if (!isOdd()) headers.push(['Host', 'x']);
  for (let more = random.below(3); more > 0; more--) headers.push([random.of(PLAIN)]);
  if (random.chance(0.15))
    headers.push([
      random.of(['Connection: close', 'Expect: 100-continue', 'X-Merchant-Id: acme', 'X-Forwarded-For: 192.0.2.7', 'X-Request-Id: r-2']),
    ]);
  while (random.chance(4 * oddness)) headers.push([random.of(ODD)]);
  for (const [name, value] of shuffled(headers, random)) {
    if (value === undefined) pieces.push(name ?? '');
    else pieces.push(name ?? '', isOdd() ? random.of(COLONS) : ': ', value);
    pieces.push(eol());
  }
  pieces.push(eol(), ...body);
  return pieces;
}

/** A body, and the headers that delimit it. @param {Random} random @param {() => boolean} isOdd @returns {{ headers: string[][], body: string[] }} */
function framed(random, isOdd) {
  const body = random.of(BODIES);
  const kind = random.below(4);
  if (kind === 0 || kind === 1) return { headers: [], body: isOdd() ? [body] : [] };
  if (kind === 2)
    return { headers: [['Content-Length', String(isOdd() ? body.length + random.of([-1, 1, 7]) : body.length)]], body: [body] };
  return { headers: [['Transfer-Encoding', 'chunked']], body: chunkPieces(body, random, isOdd) };
}

/** @param {string} body @param {Random} random @param {() => boolean} isOdd */
function chunkPieces(body, random, isOdd) {
  const pieces = [];
  const eol = () => (isOdd() ? random.of([...EOLS, '', 'x\r\n']) : '\r\n');
  const size = (/** @type {number} */ n) => (isOdd() ? random.of(ODD_CHUNK_SIZES) : random.of(CHUNK_SIZES))(n);
  const cut = random.below(body.length + 1);
  for (const chunk of [body.slice(0, cut), body.slice(cut)]) if (chunk !== '') pieces.push(size(chunk.length), eol(), chunk, eol());
  pieces.push(isOdd() ? random.of(['00', '0;a=b', '0 ', '-0', '', '0x0', '0\0']) : '0', eol());
  pieces.push(isOdd() ? random.of(TRAILERS) : random.chance(0.1) ? 'X-Trailer: x\r\n' : '', eol());
  return pieces;
}

/** One piece is left out, doubled or spoilt by a byte, or the end is missing. @param {string[]} pieces @param {Random} random */
function spoilt(pieces, random) {
  const at = random.below(pieces.length);
  const piece = pieces[at] ?? '';
  const place = random.below(piece.length + 1);
  switch (random.below(5)) {
    case 0:
      return pieces.toSpliced(at, 1);
    case 1:
      return pieces.toSpliced(at, 0, piece);
    case 2:
      return pieces.toSpliced(at, 1, piece.slice(0, place) + random.of(BYTES) + piece.slice(place));
    case 3:
      return pieces.toSpliced(at, 1, piece.slice(0, place) + random.of(BYTES) + piece.slice(place + 1));
    default:
      return [...pieces.slice(0, at), piece.slice(0, place)];
  }
}

/** @template T @param {T[]} all @param {Random} random */
function shuffled(all, random) {
  for (let i = all.length - 1; i > 0; i--) {
    const other = random.below(i + 1);
    [all[i], all[other]] = [/** @type {T} */ (all[other]), /** @type {T} */ (all[i])];
  }
  return all;
}
