/** Cases: what a client might send on one connection of HTTP/2, mostly as it is allowed, and each with a few things that are not, or that are done to do harm. */
import { Random } from '../shared/random.mjs';
import { BODIES, BYTES } from '../http1/words.mjs';
import { Flag, frame, FrameType, goaway, MAX_FRAME_BYTES, PREFACE, settings, uint32, windowUpdate } from './frames.mjs';
import { headersOf, trailersOf } from './headers.mjs';
import { HpackEncoder } from './hpack.mjs';
import { HUFFMAN_END } from './huffman.mjs';
import { ODD_HPACK, ODD_SETTINGS, SETTINGS } from './words.mjs';

/**
 * @typedef {import('./hpack.mjs').Field} Field
 * @typedef {import('../shared/fuzz.mjs').AnyCase & { ending: 'waits' | 'half_closes' | 'breaks_off' }} Case
 *   a piece is a frame, or something in the place of one; `ending`: what the client does when it has sent all
 *
 * @typedef {object} Script what is being written
 * @property {Random} random
 * @property {() => boolean} isOdd
 * @property {string[]} pieces
 * @property {HpackEncoder} encoder
 * @property {number[]} streamIds those that were used so far
 */

const MOST_PIECES = 60;
/** Codes of errors (RFC 9113, 7). */
const CODES = [0, 1, 2, 3, 5, 7, 8, 11, 13, 99];

/** @param {number} seed @returns {Case} */
export function caseOf(seed) {
  const random = new Random(seed);
  // As with HTTP/1.1: with many odd things the first is all that is looked at.
  const oddness = random.of([0, 0.01, 0.02, 0.02, 0.05, 0.12]);
  /** @type {Script} */
  const script = { random, isOdd: () => random.chance(oddness), pieces: [], encoder: new HpackEncoder(), streamIds: [] };
  add(script, script.isOdd() ? Buffer.concat([PREFACE.subarray(0, random.below(24)), PREFACE]) : PREFACE, firstSettings(script));
  interleave(script);
  const { pieces } = script;
  return {
    pieces: random.chance(0.15) ? spoilt(pieces, random) : pieces,
    writes: random.chance(0.4) ? 2 + random.below(8) : 1,
    admission: random.of(/** @type {const} */ (['forward', 'forward', 'later', 'read_body', 'refuse'])),
    trusted: random.chance(0.7),
    ending: random.chance(0.85) ? 'waits' : random.of(/** @type {const} */ (['half_closes', 'half_closes', 'breaks_off'])),
  };
}

/** @param {Script} script @param {...Buffer} frames each is a piece */
function add({ pieces }, ...frames) {
  for (const each of frames) pieces.push(each.toString('latin1'));
}

/** @param {Script} script */
function firstSettings({ random, isOdd }) {
  const pairs = Array.from({ length: random.below(3) }, () => random.of(isOdd() ? ODD_SETTINGS : SETTINGS));
  return settings(pairs);
}

/** The frames of some streams, in the order of each, and those of the connection among them. @param {Script} script */
function interleave(script) {
  const { random, pieces } = script;
  const streams = [request(script, 1)];
  for (let id = 3; random.chance(0.6) && streams.length < 8; id += 2) streams.push(request(script, id));
  while (streams.length > 0 && pieces.length < MOST_PIECES) {
    // The first headers come in the order of the ids.
    const at = random.chance(0.5) ? 0 : random.below(streams.length);
    const next = streams[at];
    const earlier = streams.slice(0, at).some(({ isBegun }) => !isBegun);
    if (next === undefined || (earlier && !script.isOdd())) continue;
    next.isBegun = true;
    const step = next.steps.shift();
    if (step === undefined) streams.splice(at, 1);
    else step();
    if (random.chance(0.15)) ofConnection(script);
  }
}

/** @param {Script} script @param {number} streamId @returns {{ isBegun: boolean, steps: (() => void)[] }} what is to be sent, and encoded only then */
function request(script, streamId) {
  const { random, isOdd } = script;
  const { fields, body } = headersOf(random, isOdd);
  const id = isOdd() ? random.of([0, 2, 1, streamId - 2, streamId + 1000, 2 ** 31 - 1, 2 ** 31 + streamId]) : streamId;
  const endsEarly = body === undefined && !isOdd();
  const steps = [() => headerFrames(script, id, fields, endsEarly)];
  if (endsEarly) return { isBegun: false, steps };
  const chunks = chunksOf(body ?? '', random);
  const hasTrailers = random.chance(0.1);
  for (const [i, chunk] of chunks.entries()) {
    const isLast = i === chunks.length - 1 && !hasTrailers;
    steps.push(() => add(script, dataFrame(script, isOdd() ? streamId + 2 : id, chunk, isLast !== isOdd())));
  }
  if (hasTrailers) steps.push(() => headerFrames(script, id, trailersOf(random, isOdd), !isOdd()));
  if (random.chance(0.06)) steps.splice(1 + random.below(steps.length), 0, () => add(script, reset(script, id)));
  if (isOdd()) steps.push(() => add(script, dataFrame(script, id, 'behind', random.chance(0.5))));
  if (isOdd()) steps.push(() => headerFrames(script, id, fields, true));
  return { isBegun: false, steps };
}

/** @param {string} body @param {Random} random */
function chunksOf(body, random) {
  const cut = random.below(body.length + 1);
  const chunks = random.chance(0.5) ? [body] : [body.slice(0, cut), body.slice(cut)];
  return random.chance(0.2) ? [...chunks, ''] : chunks;
}

/** A block of headers in one frame, or in several. @param {Script} script @param {number} streamId @param {readonly Field[]} fields @param {boolean} endsStream */
function headerFrames(script, streamId, fields, endsStream) {
  const { random, isOdd } = script;
  script.streamIds.push(streamId);
  const block = blockOf(script, fields);
  const parts = [];
  let rest = block;
  // Nothing that is allowed is longer than a frame may be.
  while (rest.length > MAX_FRAME_BYTES - 300 || (rest.length > 0 && parts.length < 4 && random.chance(0.25))) {
    const cut = Math.min(random.below(rest.length + 1), MAX_FRAME_BYTES - 300);
    parts.push(rest.subarray(0, cut));
    rest = rest.subarray(cut);
  }
  parts.push(rest);
  for (const [i, part] of parts.entries()) {
    const ends = (i === parts.length - 1) !== isOdd() ? Flag.endHeaders : 0;
    if (i > 0) add(script, frame(isOdd() ? random.below(12) : FrameType.continuation, ends, isOdd() ? streamId + 2 : streamId, part));
    else add(script, padded(script, FrameType.headers, ends | (endsStream ? Flag.endStream : 0), streamId, part));
    if (i < parts.length - 1 && isOdd()) ofConnection(script);
  }
}

/** @param {Script} script @param {readonly Field[]} fields */
function blockOf({ random, isOdd, encoder }, fields) {
  const parts = [];
  if (random.chance(0.05)) parts.push(encoder.resize(random.of([0, 64, 4_096])));
  for (const field of fields) {
    if (isOdd() && random.chance(0.3)) parts.push(random.chance(0.1) ? HUFFMAN_END : Buffer.from(random.of(ODD_HPACK)));
    parts.push(
      encoder.field(field, random.of(/** @type {const} */ (['indexed', 'indexed', 'named', 'literal', 'never'])), random.chance(0.4)),
    );
  }
  // The last header again and again, in a byte each: what is small here is large behind it.
  if (isOdd() && random.chance(0.1)) parts.push(Buffer.alloc(3_000, 0xbe));
  return Buffer.concat(parts);
}

/** A frame, with padding or without, and of HEADERS with the priority that nobody heeds. @param {Script} script @param {number} type @param {number} flags @param {number} streamId @param {Buffer} content */
function padded({ random, isOdd }, type, flags, streamId, content) {
  const parts = [content];
  let all = flags;
  if (type === FrameType.headers && random.chance(0.1)) {
    all |= Flag.priority;
    parts.unshift(uint32(random.of([0, streamId, 2 ** 31 + 1, 7])), Buffer.from([random.below(256)]));
  }
  if (random.chance(0.1)) {
    const padding = random.of([0, 1, 17, 255]);
    all |= Flag.padded;
    parts.unshift(Buffer.from([isOdd() ? 255 : padding]));
    parts.push(Buffer.alloc(padding));
  }
  if (isOdd()) all ^= 1 << random.below(8);
  return frame(type, all, streamId, Buffer.concat(parts));
}

/** @param {Script} script @param {number} streamId @param {string} chunk @param {boolean} endsStream */
function dataFrame(script, streamId, chunk, endsStream) {
  return padded(script, FrameType.data, endsStream ? Flag.endStream : 0, streamId, Buffer.from(chunk, 'latin1'));
}

/** @param {Script} script @param {number} streamId */
const reset = ({ random }, streamId) => frame(FrameType.resetStream, 0, streamId, uint32(random.of(CODES)));

/** Something that concerns the whole connection, or a stream that may be there or not. @param {Script} script */
function ofConnection(script) {
  const { random, isOdd, streamIds } = script;
  const streamId = isOdd() ? random.below(20) : random.of([0, ...streamIds]);
  const payload = Buffer.from(random.of(BODIES), 'latin1');
  switch (random.below(10)) {
    case 0:
      return add(script, firstSettings(script));
    case 1:
      return add(script, frame(FrameType.settings, Flag.ack, isOdd() ? 1 : 0, isOdd() ? payload : undefined));
    case 2:
      return add(script, frame(FrameType.ping, isOdd() ? Flag.ack : 0, 0, isOdd() ? payload : Buffer.alloc(8, random.below(256))));
    case 3:
    case 4:
      return add(script, windowUpdate(streamId, isOdd() ? random.of([0, 2 ** 31 - 1, 2 ** 32 - 1]) : 1 + random.below(100_000)));
    case 5:
      return add(
        script,
        frame(FrameType.priority, 0, streamId, Buffer.concat([uint32(random.below(20)), Buffer.from([random.below(256)])])),
      );
    case 6:
      return add(script, frame(random.of([0xa, 0xc, 0x10, 0x42, 0xff]), random.below(256), streamId, payload));
    case 7:
      return isOdd() ? add(script, frame(FrameType.pushPromise, Flag.endHeaders, streamId, payload)) : undefined;
    case 8:
      return random.chance(0.1) || isOdd() ? add(script, goaway(random.of([0, 1, 2 ** 31 - 1]), random.of(CODES))) : undefined;
    default:
      return random.chance(0.2) || isOdd() ? add(script, flood(script, streamId)) : undefined;
  }
}

/** Many frames that are cheap for the client, as one piece. @param {Script} script @param {number} streamId */
function flood(script, streamId) {
  const { random } = script;
  const one = random.of([
    () => frame(FrameType.ping, 0, 0, Buffer.alloc(8)),
    () => settings([]),
    () => frame(FrameType.data, 0, streamId),
    () => reset(script, streamId),
    () => windowUpdate(streamId, 1),
    () => frame(FrameType.priority, 0, streamId || 1, Buffer.from([0, 0, 0, 0, 7])),
    () => frame(FrameType.continuation, 0, streamId),
    () => Buffer.concat([frame(FrameType.headers, Flag.endHeaders, streamId, Buffer.from([0x82])), reset(script, streamId)]),
  ])();
  return Buffer.concat(Array.from({ length: random.of([5, 30, 150, 400]) }, () => one));
}

/** One piece is left out, doubled, changes places with the next, or is spoilt by a byte, or the end is missing. @param {string[]} pieces @param {Random} random */
function spoilt(pieces, random) {
  const at = random.below(pieces.length);
  const piece = pieces[at] ?? '';
  // In the head of a frame as often as in the rest of it.
  const place = random.below(random.chance(0.5) ? Math.min(9, piece.length + 1) : piece.length + 1);
  const byte = random.chance(0.5) ? random.of(BYTES) : String.fromCharCode(random.below(256));
  switch (random.below(6)) {
    case 0:
      return pieces.toSpliced(at, 1);
    case 1:
      return pieces.toSpliced(at, 0, piece);
    case 2:
      return pieces.toSpliced(at, 1, piece.slice(0, place) + byte + piece.slice(place));
    case 3:
      return pieces.toSpliced(at, 1, piece.slice(0, place) + byte + piece.slice(place + 1));
    case 4:
      return pieces.toSpliced(at, 2, ...pieces.slice(at, at + 2).reverse());
    default:
      return [...pieces.slice(0, at), piece.slice(0, place)];
  }
}
