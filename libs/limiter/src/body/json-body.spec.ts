import * as fc from 'fast-check';
import { JsonScalar } from '../conditions/field-value.js';
import { bodyOfText, MOST_BODY_BYTES, readBody } from './json-body.js';

const number = (text: string) => new JsonScalar('number', text);
const truth = (text: string) => new JsonScalar('truth', text);
const object = new JsonScalar('object', '');

describe('a field of a body', () => {
  it.each<[string, string, unknown]>([
    ['{"a":"x"}', 'a', 'x'],
    ['{"a":{"b":{"c":"x"}}}', 'a.b.c', 'x'],
    ['{"a":null}', 'a', undefined],
    ['{"a":{}}', 'a', object],
    ['{"a":"x"}', 'a.b', undefined],
    ['{"a":true,"b":false}', 'b', truth('false')],
    [' { "a" :\n[ 1 , "x" , null , {} ] } ', 'a', [number('1'), 'x', object]],
    ['{"a":["x"]}', 'a', 'x'],
    ['{"a":[]}', 'a', []],
    ['{"items":[{"price":1},{"name":"x"},[{"price":2}]]}', 'items.price', [number('1'), number('2')]],
    ['[{"a":1}]', 'a', number('1')],
    ['"a"', 'a', undefined],
    ['{"a\\u002eb":1,"a":{"b":2}}', 'a.b', number('2')],
    ['{"\\u0061":"\\u00e9\\n\\"\\\\"}', 'a', 'é\n"\\'],
    ['{"a":"}],\\"{["}', 'a', '}],"{['],
  ])('of %s at %s is %j', (text, path, value) => expect(bodyOfText(text).valueOf(path)).toEqual(value));

  it('that comes more than once has several values, because upstreams take the first or the last', () => {
    expect(bodyOfText('{"amount":1,"amount":1000}').valueOf('amount')).toEqual([number('1'), number('1000')]);
    expect(bodyOfText('{"a":{"b":1},"a":{"b":2}}').valueOf('a.b')).toEqual([number('1'), number('2')]);
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length'])('named %s is like any other', (name) => {
    expect(bodyOfText('{}').valueOf(name)).toBeUndefined();
    expect(bodyOfText(`{"${name}":{"x":"y"}}`).valueOf(`${name}.x`)).toBe('y');
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });

  it.each([
    ['0.10', '0.1'],
    ['-0', '0'],
    ['1E2', '100'],
    ['12.5e-3', '0.0125'],
    ['9007199254740993', '9007199254740993'],
    ['0.1000000000000000055511151231257827', '0.1000000000000000055511151231257827'],
    ['100e-2', '1'],
    ['0e999999999', '0'],
  ])('that is the number %s has the value %s, digit by digit', (written, value) => {
    expect(bodyOfText(`{"n":${written}}`).valueOf('n')).toEqual(number(value));
  });

  it('that is a number of any size costs no more than a thousand digits', () => {
    for (const [written, most] of [
      ['1e999999999', 1001],
      ['1e-999999999', 1003],
      ['-1e400', 402],
    ] as const) {
      const { text } = bodyOfText(`[{"n":${written}}]`).valueOf('n') as JsonScalar;
      expect(text.length).toBeLessThanOrEqual(most);
    }
  });
});

describe('a body', () => {
  const bytes = (text: string) => new TextEncoder().encode(text);

  it.each([
    ['no JSON', bytes('{"a":1'), 'broken'],
    ['a number that JSON does not have', bytes('{"a":NaN}'), 'broken'],
    ['two documents', bytes('{}{}'), 'broken'],
    ['bytes that are not UTF-8', Uint8Array.from([0x22, 0xff, 0x22]), 'broken'],
    ['UTF-16', new Uint8Array(Buffer.from('{"a":1}', 'utf16le')), 'broken'],
    ['65 levels', bytes('['.repeat(65) + ']'.repeat(65)), 'broken'],
    ['30,000 levels', bytes('['.repeat(30_000) + ']'.repeat(30_000)), 'broken'],
    ['more than 64 KiB', bytes(JSON.stringify('x'.repeat(MOST_BODY_BYTES - 1))), 'too_large'],
  ])('of %s cannot be read', (_what, body, unreadable) => expect(readBody(body)).toMatchObject({ unreadable }));

  it.each([
    ['nothing', ''],
    ['64 levels', '['.repeat(64) + ']'.repeat(64)],
    ['brackets in texts', JSON.stringify('['.repeat(1_000))],
    ['a mark of UTF-8 in front', '\ufeff{}'],
    ['64 KiB', JSON.stringify('x'.repeat(MOST_BODY_BYTES - 2))],
  ])('of %s can be read', (_what, text) => expect(readBody(bytes(text)).unreadable).toBeUndefined());

  it('has what JSON.parse finds in it, whatever it is', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.string(), (value, name) => {
        const path = name.replaceAll('.', '');
        const body = bodyOfText(JSON.stringify({ [path]: value, other: [value] }, null, 1));
        const found = body.valueOf(path);
        if (typeof value === 'string') expect(found).toBe(value);
        else if (typeof value === 'number') expect(Number((found as JsonScalar).text)).toBe(value === 0 ? 0 : value);
        else if (value === null) expect(found).toBeUndefined();
        else expect(found).toBeDefined();
      }),
    );
  });

  it('of text that is nearly JSON is read or refused, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('{', '}', '[', ']', ',', ':', '"a"', '"', '\\', '1', 'e', '-', ' ', 'null', 'true')),
        (parts) => {
          const text = parts.join('');
          const isJson = (() => {
            try {
              JSON.parse(text);
              return true;
            } catch {
              return false;
            }
          })();
          const body = bodyOfText(text);
          body.valueOf('a.a');
          expect(body.unreadable === undefined).toBe(isJson);
        },
      ),
      { numRuns: 500 },
    );
  });
});
