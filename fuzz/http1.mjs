/** Fuzzes the proxy of a gateway with HTTP/1.1 of all kinds, as npm test does with fewer cases. */
import { FuzzBed } from './http1/bed.mjs';
import { lanesSubject } from './http1/lanes.mjs';
import { http1Subject } from './http1/subject.mjs';
import { campaign, proxyStarter } from './shared/campaign.mjs';
import { asText } from './shared/fuzz.mjs';

/** @typedef {{ cases: number, seed: number, from: number }} Options */

/** So many cases are under way at once: some of them wait for a time-out. */
const AT_ONCE = 64;

/** @param {Options} options @returns {Promise<number>} the exit code */
export async function fuzzHttp1(options) {
  const start = await proxyStarter();
  return fuzzAtOnce(options, async () => {
    const [bed, close] = await openBed(start, false);
    return [http1Subject(bed), close];
  });
}

/** Compares a proxy with the fast lane to one without. @param {Options} options @returns {Promise<number>} the exit code */
export async function fuzzLanes(options) {
  const start = await proxyStarter();
  let moments = 0;
  const onMoment = (
    /** @type {import('./http1/grammar.mjs').Case} */ { pieces, writes, admission },
    /** @type {readonly string[]} */ differences,
  ) => {
    moments++;
    console.log(
      `differed once, and not again (${moments}): ${admission}, ${writes} writes: ${asText(pieces)}\n  ${differences.join('\n  ')}`,
    );
  };
  return fuzzAtOnce(options, async () => {
    const [slow, closeSlow] = await openBed(start, false);
    const [fast, closeFast] = await openBed(start, true);
    return [lanesSubject({ slow, fast }, onMoment), () => Promise.all([closeSlow(), closeFast()])];
  });
}

/**
 * @template {import('./shared/fuzz.mjs').AnySeen} S
 * @typedef {[subject: import('./shared/fuzz.mjs').Subject<import('./http1/grammar.mjs').Case, S>, close: () => Promise<unknown>]} Opened
 */

/**
 * @template {import('./shared/fuzz.mjs').AnySeen} S
 * @param {Options} options
 * @param {() => Promise<Opened<S>>} open
 */
async function fuzzAtOnce(options, open) {
  const first = await open();
  const more = await Promise.all(Array.from({ length: Math.min(AT_ONCE, options.cases) - 1 }, open));
  const opened = [first, ...more];
  return campaign([first[0], ...more.map(([subject]) => subject)], options).finally(() => Promise.all(opened.map(([, close]) => close())));
}

/** @param {Awaited<ReturnType<typeof proxyStarter>>} start @param {boolean} fastLane @returns {Promise<[bed: FuzzBed, close: () => Promise<void>]>} */
async function openBed(start, fastLane) {
  /** @type {Awaited<ReturnType<typeof start>>[]} */
  let proxies = [];
  const bed = await FuzzBed.open(async (upstream, admit) => {
    proxies = await Promise.all([true, false].map((trusted) => start(upstream, admit, trusted, fastLane)));
    const [trusting = 0, notTrusting = 0] = proxies.map(({ port }) => port);
    return { ports: [trusting, notTrusting], inFlight: () => proxies.reduce((sum, { inFlight }) => sum + inFlight(), 0) };
  });
  const close = async () => {
    bed.close();
    await Promise.all(proxies.map((proxy) => proxy.close()));
  };
  return [bed, close];
}
