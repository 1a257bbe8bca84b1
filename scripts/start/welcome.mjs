/** What npm start prints when everything runs. */

/**
 * @param {object} facts
 * @param {string} facts.rulesApi
 * @param {string} facts.gateway
 * @param {string} facts.gatewayManagement
 * @param {string} facts.preloaderManagement
 * @param {string} facts.upstream
 * @param {string[]} facts.services
 * @param {string} facts.token
 * @param {string | undefined} facts.ruleId a rule of acme
 * @param {string} facts.logs
 * @param {number} facts.seconds
 * @returns {string}
 */
export function welcome({ rulesApi, gateway, gatewayManagement, preloaderManagement, upstream, services, token, ruleId, logs, seconds }) {
  const commands = [
    ['A request that passes, with its RateLimit headers:', `curl -i -H 'X-Merchant-Id: acme' ${gateway}/transactions`],
    ["Acme's rules, as an administrator sees them:", `curl -s -H 'Authorization: Bearer ${token}' ${rulesApi}/v1/merchants/acme/rules`],
    [
      'A burst of twenty: about ten pass (200), the rest is refused (429):',
      `curl -s -o /dev/null -w '%{http_code} ' -H 'X-Merchant-Id: acme' '${gateway}/transactions?try=[1-20]'`,
    ],
    ['A wider limit; three seconds later it is full, and a burst of twenty passes fifteen:', editCommand(rulesApi, token, ruleId)],
    ['What the gateway has counted:', `curl -s ${gatewayManagement}/metrics | grep ^tollgate_requests_total`],
  ];
  return `
Tollgate runs (ready after ${seconds.toFixed(1)} s).

  Rules API      ${rulesApi}   documentation: ${rulesApi}/docs
  Gateway        ${gateway}   in front of ${upstream}
  Management     ${gatewayManagement} (gateway)   ${preloaderManagement} (preloader)   /healthz /readyz /metrics
  Admin token    ${token}
  Services       ${services.join('\n                 ')}
  Logs           ${logs}

Five commands worth trying:

${commands.map(([what, command], index) => `  ${index + 1}. ${what}\n     ${command}\n`).join('\n')}
Ctrl-C stops everything. From here on, one line per event:
`;
}

/**
 * @param {string} rulesApi
 * @param {string} token
 * @param {string | undefined} ruleId
 */
function editCommand(rulesApi, token, ruleId) {
  const rule = {
    name: 'transactions',
    layer: 'merchant',
    priority: 100,
    match: { methods: [], paths: ['/transactions/**'] },
    key: ['merchant'],
    limits: [{ name: 'burst', algorithm: 'token_bucket', capacity: 15, refillTokens: 5, refillIntervalMs: 1000 }],
  };
  return `curl -s -X PUT -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -H 'If-Match: *' -d '${JSON.stringify(rule)}' ${rulesApi}/v1/merchants/acme/rules/${ruleId ?? 'RULE_ID'}`;
}
