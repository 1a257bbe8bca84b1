import { isMerchantId } from '#limiter';
import * as fc from 'fast-check';
import { outboxRow } from './outbox.js';

const ROW = { id: '1', merchant_id: 'acme', version: '3', created_at: new Date(7) };

test('a row of the outbox is parsed', () =>
  expect(outboxRow(ROW)).toEqual({ id: '1', merchantId: 'acme', version: 3, createdAt: new Date(7) }));

test('a row about a plan names it', () =>
  expect(outboxRow({ ...ROW, merchant_id: null, plan: 'pro' })).toMatchObject({ merchantId: null, plan: 'pro' }));

test('a row about a plan that could not be read again is refused', () => {
  for (const plan of ['', 'No Name', 7, {}]) expect(outboxRow({ ...ROW, merchant_id: null, plan })).toBeUndefined();
});

test('invalid times and versions of an outbox row are left out', () => {
  for (const odd of [Infinity, -Infinity, null, 'infinity', new Date(NaN), '9007199254740993', '-4', {}]) {
    const { version, createdAt } = outboxRow({ ...ROW, version: odd, created_at: odd })!;
    expect([version, createdAt]).toEqual([0, null]);
  }
});

test('an outbox row is refused exactly if it names no merchant, whatever its other columns hold', () => {
  fc.assert(
    fc.property(fc.anything(), fc.anything(), fc.anything(), (merchantId, version, createdAt) => {
      const row = outboxRow({ id: '1', merchant_id: merchantId, version, created_at: createdAt });
      expect(row !== undefined).toBe(merchantId === null || isMerchantId(merchantId));
      if (row) expect(row.version).toBeGreaterThanOrEqual(0);
    }),
  );
});
