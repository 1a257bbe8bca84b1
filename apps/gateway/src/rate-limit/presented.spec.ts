import { compileTemplate } from '#platform';
import { createPresent } from './presented.js';
import { refusal } from '#edge';

const { status, headers, body } = refusal({
  status: 429,
  type: 'quota-exceeded',
  code: 'quota.exceeded',
  title: 'Quota exceeded',
  detail: 'Too many <requests>.',
  requestId: 'r-1',
  headers: ['RateLimit', '"burst";r=0', 'Retry-After', '5'],
  extensions: { 'violated-policies': ['burst'], rule: '7', ruleName: 'cards' },
});
const REFUSED = { status, headers, body };
const browser = (name: string) => (name === 'accept' ? ['text/html,*/*;q=0.8'] : ['https://shop.example']);
const program = () => ['*/*'];
const NO_ORIGINS = { origins: [] };

test('answers stay as they are unless something else is configured', () => {
  expect(createPresent({ body: undefined, html: 'none', ...NO_ORIGINS })).toBeUndefined();
});

test("the operator's body says what the problem details say, and status and headers stay", () => {
  const template = compileTemplate(
    '{"id":"{{requestId}}","wait":"{{retryAfter}}","rule":"{{rule}}","limits":"{{limits}}","is":"{{status}} {{code}}"}',
    'json',
  );
  const shown = createPresent({ body: template, html: 'none', ...NO_ORIGINS })!(REFUSED, browser);
  expect(JSON.parse(shown.body)).toEqual({ id: 'r-1', wait: 5, rule: 'cards', limits: ['burst'], is: '429 quota.exceeded' });
  expect(shown.status).toBe(429);
  expect(shown.headers.slice(0, 4)).toEqual(REFUSED.headers);
  expect(shown.headers).toContain('application/json');
});

test('a browser gets a page, a program problem details, and caches are told that there are two', () => {
  const present = createPresent({ body: undefined, html: 'built-in', ...NO_ORIGINS })!;
  const page = present(REFUSED, browser);
  expect(page.headers).toEqual(expect.arrayContaining(['text/html; charset=utf-8', 'nosniff', 'Vary', 'Retry-After']));
  expect(page.body).toContain('<p>Too many &lt;requests&gt;.</p>');
  expect(present(REFUSED, program)).toEqual({ ...REFUSED, headers: [...REFUSED.headers, 'Vary', 'Accept'] });
});

test('a page of an origin that may read answers gets the headers for it, whatever the body is', () => {
  const origins = ['https://shop.example'];
  const allowed = ['Access-Control-Allow-Origin', 'https://shop.example'];
  const problem = createPresent({ body: undefined, html: 'none', origins })!(REFUSED, browser);
  expect(problem).toMatchObject({ body, headers: expect.arrayContaining(allowed) as string[] });
  const page = createPresent({ body: undefined, html: 'built-in', origins })!(REFUSED, browser);
  expect(page.headers).toEqual(expect.arrayContaining([...allowed, 'Accept', 'Origin', 'text/html; charset=utf-8']));
});
