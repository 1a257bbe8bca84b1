/** What must hold of every case of HTTP/2, whatever was sent. What reaches the upstream is HTTP/1.1, and is judged as such. */
import { againstAdmission, headerFaults, REFUSALS, secondReadings } from '../http1/judge.mjs';
import { read, STRICTEST, valuesOf } from '../http1/readings.mjs';
import { answerTo, isHonest } from '../shared/recording-upstream.mjs';
import { PLAIN } from './words.mjs';

/**
 * @typedef {import('./bed.mjs').Seen} Seen
 * @typedef {import('../http1/readings.mjs').ReadRequest} ReadRequest
 * @typedef {import('./readings.mjs').SentRequest} SentRequest
 */

/** What the gateway writes by itself, or writes anew. */
const WRITTEN = new Set([
  ...[
    'host',
    'connection',
    'transfer-encoding',
    'content-length',
    'x-forwarded-for',
    'x-forwarded-proto',
    'x-forwarded-host',
    'x-request-id',
    'te',
  ],
]);
const KEPT = new Set(PLAIN.map(([name]) => name));

/** @param {Seen} seen @returns {string[]} what does not hold */
export function faultsOf(seen) {
  const { asked, reached, hangs, inFlight, honest, answers } = seen;
  const faults = [...answers.faults];
  if (hangs) faults.push('something that was asked has no answer');
  if (inFlight > 0) faults.push(`${inFlight} requests are still in flight`);
  if (honest.problem !== '') faults.push(`the honest client: ${honest.problem}`);
  const readings = reached.map((text) => ({ text, ...read(text, STRICTEST) }));
  for (const { ending, why, text, requests } of readings) {
    if (ending === 'invalid' || ending === 'closed') faults.push(`the upstream got what is not HTTP/1.1: ${why}`);
    faults.push(...secondReadings(text, requests));
  }
  const all = readings.flatMap(({ requests }) => requests);
  faults.push(...againstAdmission(all, asked), ...againstHonest(all, seen));
  const arrived = all.filter(({ target }) => !isHonest(target));
  const { faults: unsent, matched } = againstMeaning(arrived, seen);
  faults.push(...unsent);
  for (const request of arrived) faults.push(...headerFaults(request, seen));
  for (const [request, sent] of matched) faults.push(...againstHeaders(request, sent));
  faults.push(...answerFaults(seen, arrived));
  return faults;
}

/** What was asked beside the case came once, and as it was asked. @param {readonly ReadRequest[]} all @param {Seen} seen */
function againstHonest(all, { honest }) {
  const honestly = all.filter(({ target }) => isHonest(target));
  const [one] = honestly;
  if (one === undefined || honestly.length > 1 || one.target !== honest.target)
    return honest.problem === '' ? [`${honestly.length} honest requests reached the upstream`] : [];
  return one.isWhole && one.body === '' && valuesOf(one, 'x-honest').join() === 'yes' ? [] : ['an honest request was changed'];
}

/**
 * What was decided about, and what arrived, is what the client has said, each at most once.
 * @param {readonly ReadRequest[]} arrived
 * @param {Seen} seen
 * @returns {{ faults: string[], matched: [ReadRequest, SentRequest][] }}
 */
function againstMeaning(arrived, { asked, meant }) {
  const faults = [];
  // Those of which nothing is wrong first: what is wrong may look the same.
  const wellFirst = [...meant.requests].sort((one, other) => Number(one.fault !== '') - Number(other.fault !== ''));
  const decided = [...wellFirst];
  for (const { method, target } of asked) {
    if (isHonest(target)) continue;
    const at = decided.findIndex((each) => each.method === method && each.target === target);
    const [sent] = at === -1 ? [] : decided.splice(at, 1);
    if (sent === undefined) faults.push(`${method} ${target} was decided about, and not sent`);
    else if (sent.fault !== '') faults.push(`${method} ${target} was decided about, and is malformed: ${sent.fault}`);
  }
  const left = [...wellFirst];
  /** @type {[ReadRequest, SentRequest][]} */
  const matched = [];
  for (const request of arrived) {
    const { method, target, body, isWhole } = request;
    const candidates = left.filter(
      (each) => each.method === method && each.target === target && (isWhole ? isWholeWith(each, body) : each.body.startsWith(body)),
    );
    const sent = candidates.find((each) => againstHeaders(request, each).length === 0) ?? candidates[0];
    if (sent === undefined) {
      faults.push(`${method} ${target} with ${JSON.stringify(body)} reached the upstream${isWhole ? '' : ' in part'}, and was not sent`);
      continue;
    }
    left.splice(left.indexOf(sent), 1);
    matched.push([request, sent]);
    const why = sent.fault || (isWhole && sent.length !== 0 ? sent.faultOfEnd : '');
    if (why !== '') faults.push(`${method} ${target} reached the upstream, and is malformed: ${why}`);
  }
  return { faults, matched };
}

/** A request that announces no body is whole with its headers: whatever comes behind them is not sent on. @param {SentRequest} sent @param {string} body */
const isWholeWith = (sent, body) => (sent.length === 0 ? body === '' : sent.isWhole && sent.body === body);

/** No header was made up, and none that nobody has a reason to remove was lost. @param {ReadRequest} request @param {SentRequest} sent */
function againstHeaders(request, sent) {
  const faults = [];
  const left = withoutCrumbs(sent.headers);
  for (const [name, value] of request.headers) {
    const lower = name.toLowerCase();
    if (WRITTEN.has(lower)) continue;
    const at = left.findIndex((each) => each[0] === lower && each[1] === value);
    if (at === -1) faults.push(`the header ${JSON.stringify([name, value])} was not sent`);
    else left.splice(at, 1);
  }
  for (const [name, value] of left) if (KEPT.has(name)) faults.push(`the header ${JSON.stringify([name, value])} was lost`);
  if (valuesOf(request, 'host').join() !== sent.host) faults.push(`the upstream was told another host than ${JSON.stringify(sent.host)}`);
  return faults;
}

/** RFC 9113, 8.2.3. @param {SentRequest['headers']} headers */
function withoutCrumbs(headers) {
  const cookies = headers.filter(([name]) => name === 'cookie');
  const others = headers.filter(([name]) => name !== 'cookie');
  /** @type {import('./hpack.mjs').Field[]} */
  const one =
    cookies.length === 0
      ? []
      : [
          [
            'cookie',
            cookies
              .map(([, value]) => value)
              .join('; ')
              .trim(),
          ],
        ];
  return [...others, ...one];
}

/** @param {Seen} seen @param {readonly ReadRequest[]} arrived */
function answerFaults({ answers, isCut, admission, meant }, arrived) {
  const faults = [];
  const sent = new Map(meant.requests.map((each) => [each.streamId, each]));
  const answered = [...answers.streams.values()].filter(({ status }) => status !== 0);
  for (const stream of answered) {
    const request = sent.get(stream.streamId);
    if (request === undefined) faults.push(`an answer on stream ${stream.streamId}, on which nothing was asked`);
    else faults.push(...bodyFaults(stream, request));
    if (stream.status !== 200 && !REFUSALS.has(stream.status)) faults.push(`an answer was ${stream.status}`);
  }
  const passed = answered.filter(({ status }) => status === 200).length;
  const whole = arrived.filter(({ isWhole }) => isWhole).length;
  if (passed > whole) faults.push(`${whole} requests reached the upstream, and ${passed} have its answer`);
  const mayBeLost = isCut || meant.requests.some(isNotAwaited) || [...answers.streams.values()].some(wasReset);
  if (passed < whole && !mayBeLost) faults.push(`${whole} requests reached the upstream, and only ${passed} have its answer`);
  if (admission === 'refuse' && arrived.length > 0) faults.push('a refused request reached the upstream');
  return faults;
}

/** The client has given it up, or has not ended what is whole without it. @param {SentRequest} request */
const isNotAwaited = ({ wasReset, length, isWhole }) => wasReset || (length === 0 && !isWhole);

/** @param {import('./answers.mjs').AnsweredStream} stream */
const wasReset = ({ resetCode }) => resetCode !== undefined && resetCode !== 0;

/** @param {import('./answers.mjs').AnsweredStream} stream @param {SentRequest} request */
function bodyFaults({ streamId, status, headers, body, isWhole }, { method, target }) {
  const lengths = headers.filter(([name]) => name === 'content-length').map(([, value]) => value);
  if (lengths.length > 1) return [`the answer of stream ${streamId} has ${lengths.length} lengths`];
  if (!isWhole) return [];
  if (method === 'HEAD') return body === '' ? [] : [`the answer to HEAD on stream ${streamId} has a body`];
  if (status === 200 && body !== answerTo(target)) return [`the answer of stream ${streamId} is not that of the upstream`];
  return lengths[0] === undefined || Number(lengths[0]) === body.length
    ? []
    : [`the answer of stream ${streamId} is not as long as it says`];
}
