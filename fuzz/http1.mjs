/** Fuzzes the proxy of a gateway with HTTP/1.1 of all kinds, as npm test does with fewer cases. */
import { FuzzBed } from './http1/bed.mjs';
import { lanesSubject } from './http1/lanes.mjs';
import { http1Subject } from './http1/subject.mjs';
import { campaign, proxyStarter } from './shared/campaign.mjs';

/** @typedef {{ cases: number, seed: number, from: number }} Options */

/** @param {Options} options @returns {Promise<number>} the exit code */
export async function fuzzHttp1(options) {
  const [bed, close] = await openBed(false);
  return campaign(http1Subject(bed), options).finally(close);
}

/** Compares a proxy with the fast lane to one without. @param {Options} options @returns {Promise<number>} the exit code */
export async function fuzzLanes(options) {
  const [slow, closeSlow] = await openBed(false);
  const [fast, closeFast] = await openBed(true);
  return campaign(lanesSubject({ slow, fast }), options).finally(() => Promise.all([closeSlow(), closeFast()]));
}

/** @param {boolean} fastLane @returns {Promise<[bed: FuzzBed, close: () => Promise<void>]>} */
async function openBed(fastLane) {
  const start = await proxyStarter();
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
