/** Cases that once failed, as small as they did. Every run begins with them. */
import { Flag, frame, FrameType, PREFACE, settings } from './frames.mjs';
import { HpackEncoder } from './hpack.mjs';

/** @param {number} streamId @param {string} method @param {string} path @param {number} flags */
function headers(streamId, method, path, flags) {
  const encoder = new HpackEncoder();
  /** @type {readonly import('./hpack.mjs').Field[]} */
  const fields = [
    [':method', method],
    [':scheme', 'https'],
    [':path', path],
    [':authority', 'x'],
  ];
  return frame(FrameType.headers, flags, streamId, Buffer.concat(fields.map((field) => encoder.field(field, 'literal', false))));
}

const WHOLE = Flag.endHeaders | Flag.endStream;
const EMPTY_END = frame(FrameType.data, Flag.endStream, 1);

/** @param {Partial<import('./grammar.mjs').Case>} how @param {readonly Buffer[]} frames @returns {import('./grammar.mjs').Case} */
const caseWith = (how, frames) => ({
  ...{ writes: 1, admission: 'forward', trusted: true, ending: 'waits' },
  ...how,
  pieces: [PREFACE, settings([]), ...frames].map((each) => each.toString('latin1')),
});

/** @type {readonly import('./grammar.mjs').Case[]} */
export const KEPT = [
  // The end of an empty body, told before anybody listened: the request waited for ever.
  caseWith({ admission: 'later' }, [headers(1, 'PUT', '/a', Flag.endHeaders), EMPTY_END]),
  caseWith({ admission: 'later', trusted: false }, [headers(1, 'GET', '/a', Flag.endHeaders), EMPTY_END]),
  // A client that closes its side: its connection stayed.
  caseWith({ ending: 'half_closes' }, [headers(1, 'GET', '/large', WHOLE)]),
  caseWith({ ending: 'half_closes' }, [headers(1, 'POST', '/a', Flag.endHeaders)]),
];
