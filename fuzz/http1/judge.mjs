/** What must hold of every case, whatever was sent. */
import { LENIENT, read, STRICT, STRICTEST, valuesOf } from './readings.mjs';

/**
 * @typedef {import('./bed.mjs').Seen} Seen
 * @typedef {import('./readings.mjs').ReadRequest} ReadRequest
 */

/** What a proxy answers by itself to what it does not like. No other failure has a place here: the upstream is well. */
export const REFUSALS = new Set([400, 405, 408, 413, 414, 417, 426, 429, 431, 501, 505]);
/** Of these the gateway alone says what the upstream gets. */
const SET_BY_GATEWAY = ['x-request-id', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'host'];
const NEVER_FORWARDED = [
  'upgrade',
  'http2-settings',
  'keep-alive',
  'te',
  'proxy',
  'proxy-connection',
  'expect',
  'x-original-url',
  'x-rewrite-url',
];
const OF_TRUSTED_PEERS = ['x-merchant-id', 'x-user-id', 'forwarded', 'x-real-ip'];
const FRAMING = ['content-length', 'transfer-encoding', 'connection', 'trailer'];
const LOOK_ALIKES =
  /^(?:x[-_]merchant[-_]id|x[-_]user[-_]id|x[-_]forwarded[-_]for|x[-_]request[-_]id|content[-_]length|transfer[-_]encoding)$/i;

/** @param {Seen} seen @returns {string[]} what does not hold */
export function faultsOf(seen) {
  const { sent, asked, reached, hangs, inFlight } = seen;
  const faults = [];
  if (hangs) faults.push('the connection was not ended');
  if (inFlight > 0) faults.push(`${inFlight} requests are still in flight`);
  const meant = read(sent, STRICT);
  const readings = reached.map((text) => ({ text, ...read(text, STRICTEST) }));
  for (const { ending, why, text, requests } of readings) {
    if (ending === 'invalid' || ending === 'closed') faults.push(`the upstream got what is not HTTP/1.1: ${why}`);
    faults.push(...secondReadings(text, requests));
  }
  const arrived = readings.flatMap(({ requests }) => requests);
  faults.push(...againstAdmission(arrived, asked), ...againstMeaning(arrived, meant, asked));
  for (const request of arrived) faults.push(...headerFaults(request, seen));
  faults.push(...answerFaults(seen, meant.requests, arrived));
  return faults;
}

/** What the upstream got has one meaning only. @param {string} text @param {readonly ReadRequest[]} strictly */
export function secondReadings(text, strictly) {
  return LENIENT.flatMap((reader) => {
    const { requests } = read(text, reader);
    const same =
      requests.length === strictly.length && requests.every((request, i) => isSame(request, /** @type {ReadRequest} */ (strictly[i])));
    return same
      ? []
      : [
          `the upstream could read something else (${reader.name}): ${requests.map(({ method, target }) => `${method} ${target}`).join(', ')}`,
        ];
  });
}

/** @param {ReadRequest} one @param {ReadRequest} other */
function isSame(one, other) {
  return one.method === other.method && one.target === other.target && one.body === other.body && one.isWhole === other.isWhole;
}

/** Everything that reached the upstream was decided about, once. @param {readonly ReadRequest[]} arrived @param {Seen['asked']} asked */
export function againstAdmission(arrived, asked) {
  const left = [...asked];
  return arrived.flatMap((request) => {
    const [id, ...more] = valuesOf(request, 'x-request-id');
    const at = left.findIndex((each) => each.requestId === id && each.method === request.method && each.target === request.target);
    if (at === -1 || more.length > 0) return [`${request.method} ${request.target} reached the upstream, and nobody decided about it`];
    const [{ hostName }] = /** @type {[Seen['asked'][number]]} */ (left.splice(at, 1));
    const hosts = valuesOf(request, 'host');
    return hosts.length === 1 && (hostName === undefined || hosts[0] === hostName)
      ? []
      : [`the upstream was told the host ${hosts.join(', ')}, and rules ${hostName}`];
  });
}

/** What was decided about, and what arrived, is what the client has sent by the letter of the standard. @param {readonly ReadRequest[]} arrived @param {import('./readings.mjs').Reading} meant @param {Seen['asked']} asked */
function againstMeaning(arrived, { requests }, asked) {
  const faults = [];
  let from = 0;
  for (const { method, target } of asked) {
    const at = requests.findIndex((each, i) => i >= from && each.method === method && each.target === target);
    if (at === -1) faults.push(`${method} ${target} was decided about, and not sent`);
    else from = at + 1;
  }
  const left = [...requests];
  for (const { method, target, body, isWhole } of arrived) {
    const at = left.findIndex(
      (each) =>
        each.method === method && each.target === target && (isWhole ? each.isWhole && each.body === body : each.body.startsWith(body)),
    );
    if (at === -1)
      faults.push(`${method} ${target} with ${JSON.stringify(body)} reached the upstream${isWhole ? '' : ' in part'}, and was not sent`);
    else left.splice(at, 1);
  }
  return faults;
}

/** @param {ReadRequest} request @param {Pick<Seen, 'trusted' | 'asked'>} seen */
export function headerFaults(request, { trusted, asked }) {
  const faults = [];
  const named = new Set();
  for (const [name, value] of request.headers) {
    const lower = name.toLowerCase();
    if (named.has(lower) && SET_BY_GATEWAY.includes(lower)) faults.push(`there are two headers ${name}`);
    named.add(lower);
    // The one thing that TE may say to the upstream.
    if (NEVER_FORWARDED.includes(lower) && !(lower === 'te' && value === 'trailers')) faults.push(`${name} was forwarded`);
    if (lower.includes('_') && LOOK_ALIKES.test(lower)) faults.push(`${name}, which looks like another header, was forwarded`);
    if (!trusted && OF_TRUSTED_PEERS.includes(lower)) faults.push(`${name} was believed from a peer that is not trusted`);
  }
  const forwardedFor = valuesOf(request, 'x-forwarded-for')[0] ?? '';
  if (!(trusted ? /(?:^|, )127\.0\.0\.1$/ : /^127\.0\.0\.1$/).test(forwardedFor))
    faults.push(`X-Forwarded-For is ${JSON.stringify(forwardedFor)}`);
  const [id] = valuesOf(request, 'x-request-id');
  const merchantId = asked.find(({ requestId }) => requestId === id)?.merchantId ?? '';
  const merchants = valuesOf(request, 'x-merchant-id');
  faults.push(...trailerFaults(request));
  if (trusted && merchants.length === 1 && merchants[0] !== merchantId)
    faults.push(`rules saw the merchant ${merchantId}, the upstream ${merchants[0]}`);
  return faults;
}

/** Nobody has decided about trailers: they may say nothing that a rule or the upstream goes by. @param {ReadRequest} request */
function trailerFaults({ trailers }) {
  const decisive = [...SET_BY_GATEWAY, ...NEVER_FORWARDED, ...OF_TRUSTED_PEERS, ...FRAMING];
  return trailers
    .map(([name]) => name.toLowerCase())
    .filter((name) => decisive.includes(name.replaceAll('_', '-')))
    .map((name) => `${name} was forwarded as a trailer`);
}

/** @param {Seen} seen @param {readonly ReadRequest[]} meant @param {readonly ReadRequest[]} arrived */
function answerFaults({ answers, isReset, hangs, admission }, meant, arrived) {
  if (isReset || hangs) return [];
  const { statuses, why } = readAnswers(answers, meant);
  if (why !== '') return [`the answers are no HTTP/1.1: ${why}`];
  const faults = statuses.filter((status) => status !== 200 && !REFUSALS.has(status)).map((status) => `an answer was ${status}`);
  if (statuses.length > meant.length + 1) faults.push(`${statuses.length} answers to ${meant.length} requests`);
  if (statuses.includes(408)) faults.push('the client had ended, and was waited for');
  const passed = statuses.filter((status) => status === 200).length;
  const whole = arrived.filter(({ isWhole }) => isWhole).length;
  if (passed !== whole) faults.push(`${whole} requests reached the upstream, and ${passed} have its answer`);
  if (admission === 'refuse' && arrived.length > 0) faults.push('a refused request reached the upstream');
  return faults;
}

const ANSWER_HEAD = /^HTTP\/1\.1 (\d{3}) [\t\x20-\x7e]*\r\n((?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*)\r\n/;

/** @param {string} text @param {readonly ReadRequest[]} meant @returns {{ statuses: number[], why: string }} */
function readAnswers(text, meant) {
  const statuses = [];
  let rest = text;
  while (rest !== '') {
    const [head, status = '', headers = ''] = ANSWER_HEAD.exec(rest) ?? [];
    if (head === undefined) return { statuses, why: JSON.stringify(rest.slice(0, 100)) };
    rest = rest.slice(head.length);
    if (status.startsWith('1')) continue;
    const length = Number(/^content-length: *(\d+)\r$/im.exec(headers)?.[1] ?? NaN);
    if (Number.isNaN(length)) return { statuses, why: `an answer without a length: ${JSON.stringify(head)}` };
    const request = meant[statuses.length];
    statuses.push(Number(status));
    // What cannot be understood may have been a HEAD, or may not: the connection ends behind the answer, with a body or without.
    const isAmongTheLast = Number(status) >= 400 && /^connection: close\r$/im.test(headers);
    const hasBody = isAmongTheLast ? rest.length === length : request?.method !== 'HEAD';
    if (hasBody && rest.length < length) return { statuses, why: 'an answer that is not whole' };
    if (hasBody) rest = rest.slice(length);
  }
  return { statuses, why: '' };
}
