import { descriptorOf, type CheckRequest } from './check-request.js';

const of = (request: Partial<CheckRequest>) => descriptorOf({ merchant: 'acme', ...request }, '/', false);

test('headers are found by their names in any case, all values of them', () => {
  const { more } = of({ headers: { 'X-A': 'one', 'x-a': ['two', 'three'], HOST: 'shop.example' } });
  expect(more!.headerValues('x-a')).toEqual(['one', 'two', 'three']);
  expect(more!.headerValues('x-b')).toEqual([]);
  expect([more!.headerValues('host'), more!.hostName]).toEqual([[], 'shop.example']);
});

test('the host that is told goes before the one in the headers', () => {
  expect(of({ host: 'a', headers: { Host: 'b' } }).more!.hostName).toBe('a');
});

test('an address has one spelling', () => {
  expect([of({ ip: '::ffff:192.0.2.7' }).ip, of({ ip: '2001:DB8:0::1' }).ip, of({}).ip]).toEqual(['192.0.2.7', '2001:db8::1', '']);
});

test('a body is told from none, and from one that nobody has looked at', () => {
  expect(of({ body: { amount: 12 } }).more!.body!.valueOf('amount')).toMatchObject({ text: '12' });
  expect(of({}).more!.body).toMatchObject({});
  expect(of({}).more!.body!.unreadable).toBeUndefined();
  expect(of({ bodyUnknown: true }).more!.body!.unreadable).toBe('incomplete');
  expect(of({ body: 'x'.repeat(70_000) }).more!.body!.unreadable).toBe('too_large');
  expect(of({ body: null }).more!.body!.unreadable).toBeUndefined();
});
