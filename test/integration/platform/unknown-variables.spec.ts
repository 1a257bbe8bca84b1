import { nearestName } from '#limiter';
import { pino } from 'pino';
import { unknownVariables, VARIABLES, warnOfUnknownVariables } from '#platform';

const found = (...names: string[]) => unknownVariables(Object.fromEntries(names.map((name) => [name, 'x'])), nearestName);

describe('a variable that no app reads', () => {
  it.each([
    ['GATEWAY_FASTLANE', 'GATEWAY_FAST_LANE'],
    ['GATEWAY_WORKER', 'GATEWAY_WORKERS'],
    ['TOLLGATE_ADMINTOKEN', 'TOLLGATE_ADMIN_TOKEN'],
    ['OIDC_MERCHANT_CLAIM', 'OIDC_MERCHANTS_CLAIM'],
    ['REDIS_URI', 'REDIS_URL'],
    ['RULES_API_PROT', 'RULES_API_PORT'],
    ['GATEWAY_COLOUR_OF_THE_SKY', undefined],
    ['TOLLGATE_X', undefined],
  ])('%s is said to be unknown, and to mean %s', (name, meant) => expect(found(name)).toEqual([{ name, meant }]));

  it.each([
    'PATH',
    'HOME',
    'PORT',
    'LANG',
    'JAVA_HOME',
    'REDIS_PASSWORD',
    'DATABASE_NAME',
    'OTEL_RESOURCE_ATTRIBUTES',
    'LOG_FORMAT',
    'TOLLGATE_URL',
    'TOLLGATE_TOKEN',
    'TOLLGATE_TEST_REDIS',
    'GATEWAY_SERVICE_HOST',
    'GATEWAY_SERVICE_PORT_HTTP',
    'GATEWAY_PORT_8080_TCP_ADDR',
    'RULES_API_PORT_3000_TCP',
  ])('%s is nothing to do with Tollgate, and nothing is said', (name) => expect(found(name)).toEqual([]));

  it('is no port of a service that Kubernetes names, and may be a misspelt port of ours', () => {
    expect(unknownVariables({ TOLLGATE_GATEWAY_PORT: 'tcp://10.0.0.7:8080' }, nearestName)).toEqual([]);
    expect(unknownVariables({ GATEWAY_MANAGMENT_PORT: '8081' }, nearestName)).toEqual([
      { name: 'GATEWAY_MANAGMENT_PORT', meant: 'GATEWAY_MANAGEMENT_PORT' },
    ]);
  });

  it('is none of those that an app reads', () => expect(found(...Object.values(VARIABLES).map(({ name }) => name))).toEqual([]));
});

describe('the warning', () => {
  const warnings = (env: NodeJS.ProcessEnv): string[] => {
    const lines: string[] = [];
    warnOfUnknownVariables(pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }), nearestName, env);
    return lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
  };

  it('is one line without any value, and none if nothing is wrong', () => {
    expect(warnings({ GATEWAY_TOKNE: 'a secret', OIDC_ISUER: 'https://login.example.com' })).toEqual([
      expect.stringMatching(
        /^these environment variables are not known and are ignored: GATEWAY_TOKNE.*, OIDC_ISUER \(did you mean OIDC_ISSUER\?\)$/,
      ),
    ]);
    expect(warnings({ GATEWAY_TOKNE: 'a secret' }).join()).not.toContain('a secret');
    expect(warnings({ PATH: '/bin' })).toEqual([]);
  });

  it('is bounded', () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`GATEWAY_UNKNOWN_NUMBER_${i}`, 'x']));
    expect(warnings(many).join()).toMatch(/ and 30 more$/);
  });
});
