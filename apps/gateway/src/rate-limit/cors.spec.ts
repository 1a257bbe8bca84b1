import { withCors } from './cors.js';

const REFUSED = {
  status: 429,
  headers: [
    ...['RateLimit-Policy', '"burst";q=10', 'RateLimit', '"burst";r=0', 'Retry-After', '5', 'Content-Type', 'text/plain'],
    ...['X-Content-Type-Options', 'nosniff'],
  ],
  body: '',
};
const SHOP = 'https://shop.example';
const EXPOSED = ['Access-Control-Expose-Headers', 'RateLimit-Policy, RateLimit, Retry-After, X-Request-Id'];

/** What is added to the headers. */
const added = (...[origins, sent]: [Parameters<typeof withCors>[1], Parameters<typeof withCors>[2]]) => {
  const { headers, ...rest } = withCors(REFUSED, origins, sent);
  expect({ ...rest, headers: headers.slice(0, REFUSED.headers.length) }).toEqual(REFUSED);
  return headers.slice(REFUSED.headers.length);
};

test('a page of an origin that is named may read an answer, its limits and its request id, with credentials too', () => {
  expect(added(['https://a.example', SHOP], [SHOP])).toEqual([
    ...['Vary', 'Origin', 'Access-Control-Allow-Origin', SHOP],
    ...['Access-Control-Allow-Credentials', 'true', ...EXPOSED],
  ]);
});

test('where all origins may read, none is named, and credentials are not allowed', () => {
  expect(added('*', [SHOP])).toEqual(['Access-Control-Allow-Origin', '*', ...EXPOSED]);
  expect(added('*', [])).toEqual([]);
});

test.each([
  ['another origin', ['https://evil.example']],
  ['one that only begins alike', [`${SHOP}.evil.example`]],
  ['a page that has no origin', ['null']],
  ['two at once', [SHOP, SHOP]],
  ['none', []],
])('nothing is said to %s, but that it depends on the origin', (_case, sent) => {
  expect(added([SHOP], sent)).toEqual(['Vary', 'Origin']);
});
