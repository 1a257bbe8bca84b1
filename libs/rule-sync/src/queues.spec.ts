import { reloadKey } from './queues.js';

describe('reloadKey', () => {
  const ids = ['acme', 'acme ', 'a:b', 'a', 'b', '{a}', 'ä', 'a\u0308', '"', '\n', '🦊', 'default-rules', 'null', null];

  test('tells all merchants and the default rules apart', () => {
    const plans = ['acme', 'a', 'default-rules'].map((plan) => reloadKey(null, plan));
    expect(new Set([...ids.map((id) => reloadKey(id)), ...plans]).size).toBe(ids.length + plans.length);
  });

  test.each(ids)('holds nothing that BullMQ or a cluster would read a meaning into: %j', (id) => {
    expect(reloadKey(id)).toMatch(/^[A-Za-z0-9_-]+$/);
  });
});
