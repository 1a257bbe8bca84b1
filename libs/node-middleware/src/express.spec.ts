import { type ExpressRequest, targetOf } from './express.js';

test.each<[string, Partial<ExpressRequest>, string]>([
  ['an app', { url: '/things?x=1', baseUrl: '', originalUrl: '/things?x=1' }, '/things?x=1'],
  ['a router', { url: '/things', baseUrl: '/api', originalUrl: '/api/things' }, '/api/things'],
  ['the very path of a router', { url: '/', baseUrl: '/api', originalUrl: '/api' }, '/api'],
  ['the very path of a router, with a query', { url: '/?x=1', baseUrl: '/api', originalUrl: '/api?x=1' }, '/api?x=1'],
  ['a path that a middleware has rewritten', { url: '/new', baseUrl: '', originalUrl: '/old' }, '/new'],
  ['a server of node alone', { url: '/things' }, '/things'],
])('of %s, the path is the one by which is routed', (_what, request, target) => {
  expect(targetOf(request as ExpressRequest)).toBe(target);
});
