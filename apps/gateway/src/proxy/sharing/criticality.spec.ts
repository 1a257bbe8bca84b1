import { parseCriticalRoutes } from '#platform';
import { createCriticalityOf } from './criticality.js';

const ROUTES =
  'critical:POST,PUT:/transactions/*/capture sheddable:/reports/** normal:/transactions/**  critical:/health critical:HEAD:/files/* sheddable:GET:/files/**';

function asked(options: { method?: string; target: string; trusted?: boolean; said?: string[]; pathCaseSensitive?: boolean }): string {
  const { method = 'GET', target, trusted = true, said = [], pathCaseSensitive = true } = options;
  const criticalityOf = createCriticalityOf({ routes: parseCriticalRoutes(ROUTES), header: 'x-criticality', pathCaseSensitive })!;
  return criticalityOf({ method, target, trusted, receivedValues: (name) => (name === 'x-criticality' ? said : []) });
}

test.each([
  [{ method: 'POST', target: '/transactions/7/capture?x=1' }, 'critical'],
  [{ method: 'GET', target: '/transactions/7/capture' }, 'normal'],
  [{ target: '/reports/2026/11' }, 'sheddable'],
  [{ target: '/REPORTS/2026' }, 'normal'],
  [{ target: '/REPORTS/2026', pathCaseSensitive: false }, 'sheddable'],
  [{ target: '/elsewhere' }, 'normal'],
  [{ method: 'HEAD', target: '/files/a' }, 'critical'],
  [{ method: 'GET', target: '/files/a' }, 'sheddable'],
  [{ method: 'HEAD', target: '/files/a/b' }, 'sheddable'],
  [{ method: 'POST', target: '/files/a/b' }, 'normal'],
  [{ target: '/reports/a', said: ['Critical'] }, 'critical'],
  [{ target: '/reports/a', said: ['critical'], trusted: false }, 'sheddable'],
  [{ target: '/reports/a', said: ['critical', 'critical'] }, 'sheddable'],
  [{ target: '/reports/a', said: ['urgent'] }, 'sheddable'],
])('%j is %s', (request, criticality) => expect(asked(request)).toBe(criticality));

test('where nothing is said of criticality nobody looks', () => {
  expect(createCriticalityOf({ routes: [], header: '', pathCaseSensitive: true })).toBeUndefined();
});

test.each([
  'urgent:/a',
  'critical:a',
  'critical:/a/**/b/**',
  'critical:/*a*',
  'critical:get:/a',
  'critical:POST,:/a',
  'critical:/a//b',
  'critical:/../b',
  Array.from({ length: 65 }, () => 'critical:/a').join(' '),
])('%s is no table of routes', (text) => expect(() => parseCriticalRoutes(text)).toThrow(/like critical|at most 64/));

test('every pattern that is accepted can be matched', () => {
  const text = 'critical:/ critical:/a/ critical:/a/** critical:/**/b critical:/a*b/c critical:/$x.~!&(),=:@-';
  expect(() => createCriticalityOf({ routes: parseCriticalRoutes(text), header: '', pathCaseSensitive: true })).not.toThrow();
});
