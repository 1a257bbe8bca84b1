import * as fc from 'fast-check';
import { compareDecimals, decimalOf, decimalOfNumber } from './decimal.js';

test.each(['', '-', '+5', ' 5', '5 ', '.5', '5.', '1e3', '0x10', '1,5', '1.2.3', '٣', 'NaN', 'Infinity', '--1', '5\n'])(
  '%j is no decimal text',
  (text) => expect(decimalOf(text)).toBeUndefined(),
);

test.each([
  ['0.30', 0.3, 0],
  ['0.30000000000000004', 0.1 + 0.2, 0],
  ['0.30000000000000004', 0.3, 1],
  ['9007199254740993', 9007199254740992, 1],
  ['-0.0', 0, 0],
  ['-0', -0, 0],
  ['007', 7, 0],
  ['100000000000000000000000', 1e23, 0],
  ['0.0000001', 1e-7, 0],
  ['0.00000015', 1.5e-7, 0],
  ['-2', -10, 1],
  ['-0.5', 0.5, -1],
  ['9', 10, -1],
  ['0.9', 0.1, 1],
])('%s beside %d: %d', (text, number, sign) => {
  expect(Math.sign(compareDecimals(decimalOf(text)!, decimalOfNumber(number))) || 0).toBe(sign);
});

test('decimals compare as whole numbers of their last digit do', () => {
  const decimal = fc.tuple(fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }), fc.nat(8)).map(([digits, places]) => {
    const text = String(digits < 0n ? -digits : digits).padStart(places + 1, '0');
    const point = text.length - places;
    return {
      value: digits * 10n ** BigInt(8 - places),
      text: `${digits < 0n ? '-' : ''}${text.slice(0, point)}${places ? `.${text.slice(point)}` : ''}`,
    };
  });
  fc.assert(
    fc.property(decimal, decimal, (a, b) => {
      const sign = a.value < b.value ? -1 : a.value > b.value ? 1 : 0;
      expect(Math.sign(compareDecimals(decimalOf(a.text)!, decimalOf(b.text)!)) || 0).toBe(sign);
    }),
  );
});

test('a number is the decimal that its shortest spelling stands for', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
      const { negative, whole, fraction } = decimalOfNumber(number);
      expect(Number(`${negative ? '-' : ''}${whole || '0'}.${fraction || '0'}`) === number).toBe(true);
    }),
  );
});
