import { bodyOfText, NO_BODY } from '../body/json-body.js';
import { AskedFields } from '../conditions/request-field.js';
import { type CostOfField, priceOf } from './cost.js';

function costs(body: string | undefined, cost: Partial<CostOfField> = {}): number | undefined {
  const facts = body === undefined ? NO_BODY : bodyOfText(body);
  const descriptor = {
    merchantId: 'm',
    ip: '',
    method: 'POST',
    target: '/?amount=3&amount=x',
    more: { headerValues: () => [], hostName: '', body: facts },
  };
  return priceOf({ field: 'body.amount', scale: 100, max: 100_000, ...cost })(new AskedFields(descriptor));
}
const amount = (written: string, cost?: Partial<CostOfField>) => costs(`{"amount":${written}}`, cost);

test.each<[string, Partial<CostOfField>, number | undefined]>([
  ['12.34', {}, 1_234],
  ['"12.34"', {}, 1_234],
  ['1.1', {}, 110],
  ['0.29', {}, 29],
  ['1.15', {}, 115],
  ['0.30000000000000004', {}, 31],
  ['0.30000000000000004', { round: 'down' }, 30],
  ['0.005', { round: 'half_up' }, 1],
  ['0.0049', { round: 'half_up' }, 1],
  ['0.0049', { round: 'half_up', scale: 1 }, 1],
  ['2.5', { round: 'half_up', scale: 1 }, 3],
  ['2.49', { round: 'half_up', scale: 1 }, 2],
  ['7', { scale: 0.001 }, 1],
  ['0', {}, 1],
  ['0', { min: 5 }, 5],
  ['1000', {}, 100_000],
  ['1000.001', {}, undefined],
  ['1000.001', { round: 'down' }, 100_000],
  ['1000.001', { ifInvalid: 'max' }, 100_000],
  ['-0.01', {}, undefined],
  ['-0', {}, 1],
  ['1e3', {}, 100_000],
  ['1e400', {}, undefined],
  ['1e400', { ifInvalid: 'max' }, 100_000],
  ['1e-400', {}, undefined],
  ['1e999999999', {}, undefined],
  ['"1e3"', {}, undefined],
  ['" 5"', {}, undefined],
  ['"NaN"', {}, undefined],
  ['true', {}, undefined],
  ['{}', {}, undefined],
  ['[]', {}, undefined],
  ['[1, 5, 2]', {}, 500],
  ['[1, "x"]', {}, undefined],
  ['null', { ifAbsent: 7 }, 7],
])('an amount of %s with %j costs %j', (written, cost, tokens) => expect(amount(written, cost)).toBe(tokens));

test('a request without the field costs what the rule says, and 1 unless it says so', () => {
  expect([costs(undefined), costs('{}', { ifAbsent: 50 })]).toEqual([1, 50]);
});

test('the highest of several amounts counts', () => {
  expect(costs('{"amount":1,"amount":9}')).toBe(900);
  expect(costs(undefined, { field: 'query.amount' })).toBeUndefined();
});
