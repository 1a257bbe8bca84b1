/** Fuzzes the proxy of a gateway with HTTP/1.1 of all kinds, as npm test does with fewer cases. */
import { FuzzBed } from './http1/bed.mjs';
import { http1Subject } from './http1/subject.mjs';
import { campaign, proxyStarter } from './shared/campaign.mjs';

/** @param {{ cases: number, seed: number, from: number }} options @returns {Promise<number>} the exit code */
export async function fuzzHttp1(options) {
  const start = await proxyStarter();
  /** @type {Awaited<ReturnType<typeof start>>[]} */
  let proxies = [];
  const bed = await FuzzBed.open(async (upstream, admit) => {
    proxies = await Promise.all([true, false].map((trusted) => start(upstream, admit, trusted)));
    const [trusting = 0, notTrusting = 0] = proxies.map(({ port }) => port);
    return { ports: [trusting, notTrusting], inFlight: () => proxies.reduce((sum, { inFlight }) => sum + inFlight(), 0) };
  });
  try {
    return await campaign(http1Subject(bed), options);
  } finally {
    bed.close();
    await Promise.all(proxies.map(({ close }) => close()));
  }
}
