/** What a decision costs that is asked by gRPC: answers in a second of a core, against the same service behind @grpc/grpc-js. */
import { join } from 'node:path';
import { importBuilt } from '../scripts/build.mjs';
import { ROOT } from '../scripts/paths.mjs';
import { loadText } from './gateway-limiting.mjs';
import { figure, interleaved, ratios } from './shared/figures.mjs';
import { halfLoad } from './shared/half-load.mjs';
import { announced, decisionApiEnvironment, load, perBusySecond, startDecisionApi, warmUp } from './shared/http-bed.mjs';

export const title = 'decision API by gRPC: against the same service on grpc-js';

/** @param {import('./run.mjs').Bench} bench @returns {Promise<import('./shared/figures.mjs').Figure[]>} */
export async function run({ workshop, rounds, seconds, warmupSeconds, quick, say }) {
  const redis = await workshop.redis();
  const { grpc: ours, merchants, databaseUrl } = await startDecisionApi(workshop, redis.url);
  const script = join(ROOT, 'bench', 'load', 'grpc-js-service.mjs');
  const grpcJs = await announced(workshop.node(script, { measured: true, env: decisionApiEnvironment(redis.url, databaseUrl) }));
  const calls = await callsOf(merchants);
  const common = { merchants, status: '0', limited: true, seconds, quick };
  /** @type {Record<string, () => Promise<import('./shared/http-bed.mjs').LoadResult>>} */
  const sides = {};
  for (const [name, grpc] of Object.entries(calls))
    for (const [side, server] of Object.entries({ ours, 'grpc-js': grpcJs })) {
      await warmUp(workshop, server, { merchants, grpc, seconds: warmupSeconds });
      sides[`${name}, ${side}`] = () => load(workshop, server, { ...common, grpc, warmupSeconds });
    }

  const results = await interleaved(rounds, sides, (side, round, result) => say(`round ${round}: ${side.padEnd(24)} ${loadText(result)}`));
  const perSecond = (/** @type {string} */ side) => (results[side] ?? []).map(perBusySecond);
  const half = await halfLoad(results['Check, ours'] ?? [], rounds, say, (rate) =>
    load(workshop, ours, { ...common, grpc: calls.Check, warmupSeconds, perSecond: rate }),
  );
  return [
    ...Object.keys(calls).flatMap((name) => [
      figure(`decision API, gRPC: ${name} / the same on grpc-js`, ratios(perSecond(`${name}, ours`), perSecond(`${name}, grpc-js`)), {
        goal: { atLeast: 1.3 },
        details: { ours: results[`${name}, ours`], 'grpc-js': results[`${name}, grpc-js`] },
      }),
      figure(`  ${name}`, perSecond(`${name}, ours`), { unit: '/s' }),
      figure(`  ${name} on grpc-js`, perSecond(`${name}, grpc-js`), { unit: '/s' }),
    ]),
    figure('decision API, gRPC: p99 of Check at half load', half, { unit: 'ms', goal: { atMost: 2 } }),
  ];
}

const [METHOD, PATH] = ['POST', '/transactions/tx-1'];

/** Each with a message for each merchant. @param {string[]} merchants */
async function callsOf(merchants) {
  const check = (/** @type {string} */ merchant) => ({ merchant, method: METHOD, path: PATH, ip: '192.0.2.7' });
  return {
    Check: await messagesOf('tollgate.v1.DecisionService', 'Check', merchants.map(check)),
    ShouldRateLimit: await rateLimitMessages(merchants),
  };
}

/** What Envoy asks about a request of each merchant. @param {string[]} merchants */
export function rateLimitMessages(merchants) {
  const entry = (/** @type {string} */ key, /** @type {string} */ value) => ({ key, value });
  const call = (/** @type {string} */ merchant) => ({
    domain: 'bench',
    descriptors: [{ entries: [entry('merchant', merchant), entry('method', METHOD), entry('path', PATH)] }],
  });
  return messagesOf('envoy.service.ratelimit.v3.RateLimitService', 'ShouldRateLimit', merchants.map(call));
}

/** @param {string} service @param {string} method @param {object[]} messages */
async function messagesOf(service, method, messages) {
  const { serviceNamed } = await importBuilt('apps/decision-api/src/grpc/protos.js');
  const { path, requestSerialize } = serviceNamed(service)[method];
  return { path, messages: messages.map((message) => requestSerialize(message).toString('base64')) };
}
