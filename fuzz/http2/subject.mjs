/** A proxy that is asked in HTTP/2. */
import { contentOf, Flag, FrameType, PREFACE, readFrames } from './frames.mjs';
import { KEPT } from './kept.mjs';
import { caseOf } from './grammar.mjs';
import { HpackDecoder } from './hpack.mjs';
import { faultsOf } from './judge.mjs';
import { asText } from '../shared/fuzz.mjs';

/** @param {import('./bed.mjs').Http2FuzzBed} bed @returns {import('../shared/fuzz.mjs').Subject<import('./grammar.mjs').Case, import('./bed.mjs').Seen>} */
export const http2Subject = (bed) => ({
  caseOf,
  faultsOf,
  run: (testCase) => bed.run(testCase),
  hasRefusal: ({ answers }) => [...answers.streams.values()].some(({ status, resetCode }) => status >= 400 || resetCode !== undefined),
  kept: KEPT,
});

/** The pieces as the frames that they mostly are, and as they would be kept. @param {readonly string[]} pieces */
export function describeFrames(pieces) {
  const hpack = new HpackDecoder();
  const lines = pieces.map((piece) => {
    const bytes = Buffer.from(piece, 'latin1');
    if (bytes.equals(PREFACE)) return 'the preface';
    const { frames, at } = readFrames(bytes);
    const texts = frames.map((each) => textOf(each, hpack));
    return [...new Set(texts), ...(at < bytes.length ? [`${bytes.length - at} bytes`] : [])].join(', ');
  });
  return `\n  ${lines.join('\n  ')}\n  [${pieces.map((piece) => asText([piece])).join(',\n   ')}]`;
}

/** @param {import('./frames.mjs').Frame} frame @param {HpackDecoder} hpack */
function textOf(frame, hpack) {
  const { type, flags, streamId, payload } = frame;
  const name = Object.entries(FrameType).find(([, value]) => value === type)?.[0] ?? `type ${type}`;
  return `${name} of stream ${streamId}, flags ${flags.toString(16)}: ${type === FrameType.headers ? headersIn(frame, hpack) : asText([payload.toString('latin1')])}`;
}

/** @param {import('./frames.mjs').Frame} frame @param {HpackDecoder} hpack */
function headersIn(frame, hpack) {
  const content = contentOf(frame);
  if (content === undefined || (frame.flags & Flag.endHeaders) === 0) return `${frame.payload.length} bytes`;
  try {
    return JSON.stringify(hpack.decode(content));
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
}
