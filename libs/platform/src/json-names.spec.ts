import * as fc from 'fast-check';
import { repeatedName } from './json-names.js';

const faultOf = (text: string): string | undefined => {
  JSON.parse(text);
  return (repeatedName(text)?.errors?.[0] as { pointer: string } | undefined)?.pointer;
};

test('what JSON.stringify writes has no name twice', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1), (value, indent) => {
      expect(faultOf(JSON.stringify(value, null, indent))).toBeUndefined();
    }),
  );
});

test('a name that is written again, in whatever spelling, is found at its place', () => {
  const escaped = (name: string): string =>
    `"${[...name].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`;
  const name = fc.string({ unit: fc.constantFrom('a', '"', '\\', '{', ']', ',', ':', '/', '~', '\n', 'é') });
  fc.assert(
    fc.property(name, fc.jsonValue(), fc.jsonValue(), fc.boolean(), (again, first, second, isEscaped) => {
      const member = `${isEscaped ? escaped(again) : JSON.stringify(again)} : ${JSON.stringify(second)}`;
      const text = `[0, {"deep": {${JSON.stringify(again)}: ${JSON.stringify(first)}, ${member}}}]`;
      expect(faultOf(text)).toBe(`/1/deep/${again.replaceAll('~', '~0').replaceAll('/', '~1')}`);
    }),
  );
});

test.each<[string, string | undefined]>([
  ['{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}', undefined],
  ['{"a":"a","b":["a","a"]}', undefined],
  ['{"a":{"b":1},"a":{"b":1}}', '/a'],
  ['{"a":[1,{"x":[]},{"b":1,"b":2}]}', '/a/2/b'],
  ['[[],{"":1,"":2}]', '/1/'],
  ['"a"', undefined],
])('%s', (text, pointer) => expect(faultOf(text)).toBe(pointer));

test('a place in front of the text stands in front of the pointer', () => {
  expect(repeatedName('{"a":1,"a":2}', '/merchants/7')).toMatchObject({
    status: 400,
    code: 'body.name_repeated',
    errors: [{ pointer: '/merchants/7/a', code: 'body.name_repeated', detail: 'stands twice in its object: expected once' }],
  });
});
