import { MessageFacts } from './message-facts.js';

function factsOf(body: unknown, { type = 'application/json', length = '10' } = {}) {
  const headers = { host: 'api.example', 'content-type': type, 'content-length': length };
  const rawHeaders = [...Object.entries(headers).flat(), 'X-Tollgate-Route', 'of the client', 'X-Channel', 'web'];
  return new MessageFacts({ headers, rawHeaders, socket: {} }, { route: 'Users.login', country: 'DE', body });
}

test('rules see the headers of a request, the host by itself, and the name of its route whatever the client sends', () => {
  const facts = factsOf(undefined);
  expect([facts.headerValues('x-channel'), facts.headerValues('host'), facts.headerValues('x-tollgate-route')]).toEqual([
    ['web'],
    [],
    ['Users.login'],
  ]);
  expect([facts.hostName, facts.country]).toEqual(['api.example', 'DE']);
});

test.each<[string, unknown, object, string | undefined]>([
  ['that has been parsed', { amount: 7 }, {}, undefined],
  ['of another type that has been parsed', { amount: '7' }, { type: 'application/x-www-form-urlencoded' }, undefined],
  ['that is not there', undefined, { length: '0' }, undefined],
  ['that nobody has parsed', undefined, {}, 'incomplete'],
  ['that was left as a text', 'amount=7', {}, 'other_type'],
  ['that was left as bytes', Buffer.from('{}'), {}, 'other_type'],
  ['that a parser did not understand', {}, { type: 'text/plain' }, 'other_type'],
  ['that cannot be JSON', { amount: 7n }, {}, 'other_type'],
  ['that is long', { text: 'x'.repeat(70_000) }, {}, 'too_large'],
])('a body %s', (_what, body, head, unreadable) => {
  expect(factsOf(body, head).body.unreadable).toBe(unreadable);
});
