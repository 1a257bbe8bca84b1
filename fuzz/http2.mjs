/** Fuzzes the proxy of a gateway with HTTP/2 of all kinds, as npm test does with fewer cases. */
import { selfSigned } from '../scripts/self-signed.mjs';
import { Http2FuzzBed } from './http2/bed.mjs';
import { describeFrames, http2Subject } from './http2/subject.mjs';
import { campaign, proxyStarter } from './shared/campaign.mjs';

/** Of a case, which takes some milliseconds; found in minutes where there are thousands of them. */
const HANGS_AFTER_MS = 10_000;

/** @param {{ cases: number, seed: number, from: number }} options @returns {Promise<number>} the exit code */
export async function fuzzHttp2(options) {
  const pair = selfSigned();
  const bed = new Http2FuzzBed(await proxyStarter(pair), { ca: pair.cert, hangsAfterMs: HANGS_AFTER_MS });
  try {
    return await campaign([http2Subject(bed)], options, describeFrames);
  } finally {
    await bed.close();
  }
}
