import { asJson, ABOUT_CONNECTION, claimOption, headerOption, keyLabelOption, merchant } from './api/options.js';
import { RulesApi } from './api/rules-api.js';
import { afterHelp, newCommand } from './shared/command.js';
import { Faults } from './shared/options.js';
import { print, table } from './shared/output.js';

interface Explanation {
  readonly verdict: { readonly allowed: boolean; readonly reason: string; readonly status: number; readonly reroutedTo?: string };
  readonly layers: readonly {
    readonly layer: string;
    readonly chosen: string | null;
    readonly considered: readonly {
      readonly ruleId: string;
      readonly name: string;
      readonly source: string;
      readonly matched: boolean;
      readonly why: { readonly code: string; readonly field: string; readonly expected: unknown; readonly got: unknown } | null;
    }[];
  }[];
  readonly buckets: readonly {
    readonly ruleId: string;
    readonly limit: string;
    readonly key: readonly string[];
    readonly remaining: number;
    /** What is kept for other routes. */
    readonly withheld?: number;
    readonly retryAfterMs: number | null;
    readonly resetAfterMs: number;
  }[];
}

const ABOUT = `Says which rules were looked at for a request, in their order, why each did or did not match, what the buckets hold now, and the verdict. Nothing is
taken. The request is described by its method and path, or named by the request id of an answer.`;

export function command() {
  const faults = new Faults();
  return newCommand('explain', 'Says why a request of a merchant would pass or be refused.')
    .argument('[method]', 'the method of the request')
    .argument('[path]', 'its path')
    .addOption(merchant())
    .option('--ip <address>', 'the address of the client')
    .option('--user <id>', 'the user')
    .option('--country <code>', 'the country of the client')
    .addOption(headerOption(faults))
    .option('--api-key <id>', 'the id of the API key with which it comes, never the key')
    .addOption(keyLabelOption(faults))
    .addOption(claimOption(faults))
    .option('--request <id>', 'explain a request that was made, by its request id')
    .addOption(asJson())
    .addHelpText(
      'after',
      afterHelp(
        [ABOUT, ABOUT_CONNECTION],
        [
          'npx tollgate explain POST /transactions/17 --merchant acme',
          'npx tollgate explain GET / --merchant acme --ip 192.0.2.7 --header "x-channel: web"',
          'npx tollgate explain GET / --merchant acme --api-key 3 --api-key-label team=web',
          'npx tollgate explain GET / --merchant acme --user ann --claim scope=payments --claim org.team=web',
          'npx tollgate explain --request 6f1c2a0e --json',
        ],
      ),
    )
    .action(async (method, path, { merchant: merchantId, request: requestId, json, header, ip, user, country, ...credentials }) => {
      const { apiKey, apiKeyLabel, claim } = credentials;
      const described = [method, path, merchantId, header, user, country, apiKey, apiKeyLabel, claim].some((each) => each !== undefined);
      if (requestId !== undefined && described) faults.add('--request names the whole request: only --ip goes with it.');
      if (requestId === undefined && (method === undefined || path === undefined || merchantId === undefined))
        faults.add('Describe the request: METHOD PATH --merchant ID, or name it: --request ID.');
      if (apiKeyLabel !== undefined && apiKey === undefined) faults.add('--api-key-label goes with --api-key.');
      faults.demandNone();
      const key = apiKey === undefined ? undefined : { id: apiKey, labels: apiKeyLabel };
      const request = { method: method?.toUpperCase(), path, ip, user, country, headers: header, apiKey: key, jwt: claim };
      const question = requestId === undefined ? { merchantId, request } : { requestId, ip };
      const explanation = await RulesApi.of(process.env).ask<Explanation>('/v1/explain', { method: 'POST', body: question });
      print(json ? JSON.stringify(explanation, null, 2) : inWords(explanation));
    });
}

export function inWords({ verdict: { allowed, reason, status, reroutedTo }, layers, buckets }: Explanation): string {
  const rerouted = reroutedTo === undefined ? '' : ` A gateway that has the route ${reroutedTo} sends it there instead.`;
  const verdict = allowed
    ? `The request would pass: ${reason}.`
    : `The request would be refused with status ${status}: ${reason}.${rerouted}`;
  const considered = layers.flatMap(({ layer, chosen, considered: rules }) =>
    rules.map(({ ruleId, name, source, matched, why }) => [
      layer,
      ruleId,
      name,
      source,
      ruleId === chosen ? 'chosen' : matched ? 'matches' : 'does not match',
      why ? `${why.code}: ${why.field} is ${JSON.stringify(why.got) ?? 'absent'}, expected ${JSON.stringify(why.expected)}` : '-',
    ]),
  );
  const held = buckets.map(({ ruleId, limit, key, remaining, withheld, retryAfterMs, resetAfterMs }) => [
    ruleId,
    limit,
    key.join(', '),
    withheld === undefined ? String(remaining) : `${remaining}, leaving ${withheld} to other routes`,
    retryAfterMs === null ? 'never' : `${retryAfterMs} ms`,
    `${resetAfterMs} ms`,
  ]);
  return [
    verdict,
    considered.length === 0 ? 'The merchant has no rules.' : table(['layer', 'rule', 'name', 'of', 'is', 'why'], considered, 'words'),
    ...(held.length === 0 ? [] : [table(['rule', 'limit', 'key', 'remaining', 'passes in', 'full in'], held, 'words')]),
  ].join('\n\n');
}
