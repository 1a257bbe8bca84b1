/** What npm start prints when everything runs. */
export interface Facts {
  readonly rulesApi: string;
  readonly gateway: string;
  readonly gatewayManagement: string;
  readonly decisionApi: string;
  /** Host and port. */
  readonly decisionApiGrpc: string;
  readonly decisionApiManagement: string;
  readonly preloaderManagement: string;
  readonly upstream: string;
  readonly services: readonly string[];
  readonly token: string;
  /** A rule of acme. */
  readonly ruleId: string | undefined;
  readonly logs: string;
  readonly seconds: number;
}

export function welcome(facts: Facts): string {
  const {
    rulesApi,
    gateway,
    gatewayManagement,
    decisionApi,
    decisionApiGrpc,
    decisionApiManagement,
    preloaderManagement,
    upstream,
    services,
    token,
    logs,
    seconds,
  } = facts;
  const commands = commandsFor(facts).map(([what, command], index) => `  ${index + 1}. ${what}\n     ${command}\n`);
  return `
Tollgate runs (ready after ${seconds.toFixed(1)} s).

  Rules API      ${rulesApi}   documentation: ${rulesApi}/docs
  Gateway        ${gateway}   in front of ${upstream}
  Decision API   ${decisionApi}   for those who keep their own proxy; gRPC: ${decisionApiGrpc}
  Management     ${gatewayManagement} (gateway)   ${decisionApiManagement} (decision API)   ${preloaderManagement} (preloader)   /healthz /readyz /metrics
  Admin token    ${token}
  Services       ${services.join('\n                 ')}
  Logs           ${logs}

Five commands worth trying:

${commands.join('\n')}
Ctrl-C stops everything. From here on, one line per event:
`;
}

/** A wider limit for acme. */
const EDITED_RULE = {
  name: 'transactions',
  layer: 'merchant',
  priority: 100,
  match: { methods: [], paths: ['/transactions/**'] },
  key: ['merchant'],
  limits: [{ name: 'burst', algorithm: 'token_bucket', capacity: 15, refillTokens: 5, refillIntervalMs: 1000 }],
};

function commandsFor({
  rulesApi,
  gateway,
  gatewayManagement,
  token,
  ruleId = 'RULE_ID',
}: Facts): (readonly [what: string, command: string])[] {
  const asAdmin = `-H 'Authorization: Bearer ${token}'`;
  const rules = `${rulesApi}/v1/merchants/acme/rules`;
  const edit = `-X PUT ${asAdmin} -H 'Content-Type: application/json' -H 'If-Match: *' -d '${JSON.stringify(EDITED_RULE)}'`;
  return [
    ['A request that passes, with its RateLimit headers:', `curl -i -H 'X-Merchant-Id: acme' ${gateway}/transactions`],
    ["Acme's rules, as an administrator sees them:", `curl -s ${asAdmin} ${rules}`],
    [
      'A burst of twenty: about ten pass (200), the rest is refused (429):',
      `curl -s -o /dev/null -w '%{http_code} ' -H 'X-Merchant-Id: acme' '${gateway}/transactions?try=[1-20]'`,
    ],
    ['A wider limit; three seconds later it is full, and a burst of twenty passes fifteen:', `curl -s ${edit} ${rules}/${ruleId}`],
    ['What the gateway has counted:', `curl -s ${gatewayManagement}/metrics | grep ^tollgate_requests_total`],
  ];
}
