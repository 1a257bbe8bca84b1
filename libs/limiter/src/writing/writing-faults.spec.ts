import { METHODS as METHODS_OF_NODE } from 'node:http';
import { completed } from '../fields/field-faults.js';
import { pathPatternFault } from '../matching/path-pattern.js';
import { RULE_FIELDS, type RuleSpec } from '../rules/rule.js';
import { looksLikeExpression } from './foreign-path-syntax.js';
import { userFaults, writingFaults } from './writing-faults.js';

const BURST = { name: 'burst', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refillIntervalMs: 1_000 };

function specOf(rule: object): RuleSpec {
  return completed({ name: 'r', limits: [BURST], ...rule }, RULE_FIELDS) as unknown as RuleSpec;
}

const withPath = (path: string) => specOf({ match: { methods: [], paths: [path] } });
const withMethod = (method: string) => specOf({ match: { methods: [method], paths: [] } });

describe('a path pattern in the language of another router is refused, and ours is proposed', () => {
  it.each([
    ['/users/{id}', '/users/*'],
    ['/users/{id}/cards/{card}', '/users/*/cards/*'],
    ['/users/:id', '/users/*'],
    ['/users/:id/cards', '/users/*/cards'],
    ['/users/<int:id>', '/users/*'],
    ['/users/[id]', '/users/*'],
    ['/users/[0-9]+', '/users/*'],
    ['/users/\\d+', '/users/*'],
    ['/users/(\\d+)/cards', '/users/*/cards'],
    ['/users/[^/]+/cards', '/users/*/cards'],
    ['/users/([^/]+)', '/users/*'],
    ['/(a|b)/c', '/*/c'],
    ['/v1/pay-{id}', '/v1/pay-*'],
    ['/v1/{id}.json', '/v1/*.json'],
    ['/files/{path*}', '/files/**'],
    ['/files/{path...}', '/files/**'],
    ['/files/:path*', '/files/**'],
    ['/files/(.*)', '/files/**'],
    ['/files/...', '/files/**'],
    ['/files/+', '/files/*'],
  ])('%s: write %s', (path, instead) => {
    expect(pathPatternFault(path)).toBeUndefined();
    const [fault, ...others] = writingFaults(withPath(path));
    expect([fault?.pointer, fault?.code, others]).toEqual(['/match/paths/0', 'rule.match.paths.never_matches', []]);
    expect(fault?.detail).toContain(`like ${JSON.stringify(instead)};`);
  });

  it('proposes nothing that is no pattern either', () => {
    const [fault] = writingFaults(withPath('/{a*}/x/{b*}'));
    expect(fault?.detail).toMatch(/"\{a\*\}": write \* for anything within a segment and \*\* for any number of segments; a character/);
  });

  it.each([
    '/',
    '/**',
    '/transactions/*',
    '/v1/pay-*',
    '/v1/things:batch',
    '/Products(17)',
    '/$metadata',
    '/.well-known/*',
    '/a+b',
    '/straße/%7Bid%7D',
    '/~user/@me;v=1',
  ])('%s is one', (path) => expect(writingFaults(withPath(path))).toEqual([]));

  it.each([
    ['/v1/.*', true],
    ['/.*/x', true],
    ['/v1/x$', true],
    ['/report.*', false],
    ['/$count', false],
    ['/.well-known/*', false],
  ])('%s looks like an expression: %s', (path, expected) => expect(looksLikeExpression(path)).toBe(expected));
});

describe('a method that no request can have is refused', () => {
  it.each([
    ['PSOT', 'POST'],
    ['DELTE', 'DELETE'],
    ['PATHC', 'PATCH'],
    ['GETS', 'GET'],
  ])('%s: did you mean %s?', (method, meant) => {
    const [fault] = writingFaults(withMethod(method));
    expect([fault?.pointer, fault?.code]).toEqual(['/match/methods/0', 'rule.match.methods.not_one_of']);
    expect(fault?.detail).toContain(`did you mean "${meant}"?`);
  });

  it('proposes nothing for a word that is near to none', () => {
    expect(writingFaults(withMethod('EVERYTHING'))[0]?.detail).toBe(
      'must be a method of HTTP, which no request has otherwise, got "EVERYTHING"',
    );
  });

  it.each(METHODS_OF_NODE)('%s is one', (method) => expect(writingFaults(withMethod(method))).toEqual([]));
});

describe('a cost that a limit never holds is refused', () => {
  const small = { name: 'small', algorithm: 'fixed_window', limit: 4, windowMs: 1_000 };
  it.each([
    [{ cost: 11 }, 'must be at most 10, what the limit "burst" holds, or no request ever passes; got 11'],
    [{ cost: 5, limits: [BURST, small] }, 'must be at most 4, what the limit "small" holds, or no request ever passes; got 5'],
    [{ cost: 12, limits: [{ ...BURST, throttle: 'soft', excessPercent: 10 }] }, 'must be at most 11'],
    [{ cost: 11, limits: [{ ...BURST, initialTokens: 50 }] }, 'must be at most 10'],
    [{ cost: 3, limits: [{ name: 'slots', algorithm: 'concurrency', limit: 2, slotTimeoutMs: 1_000 }] }, 'must be at most 2'],
  ])('%j', (rule, detail) => {
    const [fault, ...others] = writingFaults(specOf(rule));
    expect([fault?.pointer, fault?.code, others]).toEqual(['/cost', 'rule.cost.exceeds_capacity', []]);
    expect(fault?.detail).toContain(detail);
  });

  it.each([
    ['as much as it holds', { cost: 10 }],
    ['with the excess of a soft limit', { cost: 11, limits: [{ ...BURST, throttle: 'soft', excessPercent: 10 }] }],
    ['of a limit that lets nothing pass on purpose', { cost: 3, limits: [{ ...BURST, capacity: 0 }] }],
  ])('%s is allowed', (_what, rule) => expect(writingFaults(specOf(rule))).toEqual([]));

  it('of a request that brings its cost along is not known yet', () => {
    expect(writingFaults({ ...specOf({}), cost: { field: 'body.amount' } as unknown as number })).toEqual([]);
  });
});

describe('the layer of users', () => {
  const faultsOf = (layer: string, key: string[]) => userFaults({ layer, key } as unknown as RuleSpec);

  it.each([[['merchant']], [['ip', 'method']], [[]]])('asks for a key that tells users apart, unlike %j', (key) => {
    expect(faultsOf('user', key)).toMatchObject([{ pointer: '/key', code: 'rule.key.lacks_user' }]);
    expect(faultsOf('merchant', key)).toEqual([]);
  });

  it.each([[['merchant', 'user']], [['apiKey']], [['header.x-user']]])('is content with %j', (key) =>
    expect(faultsOf('user', key)).toEqual([]),
  );
});
