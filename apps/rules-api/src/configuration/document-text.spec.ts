import * as fc from 'fast-check';
import { DocumentText } from './document-text.js';

const ofText = (text: string) => DocumentText.ofJson(Buffer.from(text));

/** Everything that is in a document, read as somebody would who wants it all. */
function whole(document: DocumentText): unknown {
  const { root } = document;
  if (typeof root !== 'object' || root === null || Array.isArray(root)) return root;
  const value: Record<string, unknown> = { ...root };
  for (const name of ['plans', 'merchants'] as const) {
    const items = document.items(name);
    if (items.length > 0) value[name] = Array.from({ length: items.length }, (_, i) => items.at(i));
  }
  return value;
}

const outcome = (read: () => unknown): unknown => {
  try {
    return read();
  } catch (error) {
    return (error as Error).message.includes('twice') ? 'twice' : 'no JSON';
  }
};

const ITEMS = [
  '{"id":"a","rules":[{"x":"]}"}]}',
  '1',
  '"a\\"],["',
  '[[]]',
  '{}',
  'null',
  '',
  ' ',
  '{',
  ']',
  '"',
  ',',
  'x',
  '{"merchants":[1]}',
];
const NAMES = ['"merchants"', '"plans"', '"version"', '"merch\\u0061nts"', '"a"', 'merchants', ''];
const PIECES = ['{', '}', '[', ']', ',', ':', ' ', '\n', ...ITEMS, ...NAMES];

const list = fc.array(fc.constantFrom(...ITEMS), { maxLength: 4 }).map((items) => `[${items.join(' ,\n')}]`);
const member = fc.tuple(fc.constantFrom(...NAMES), fc.oneof(list, fc.constantFrom(...ITEMS))).map(([name, value]) => `${name} : ${value}`);
const almostDocument = fc.array(member, { maxLength: 4 }).map((members) => `{${members.join(',')}}`);
const anything = fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((pieces) => pieces.join(''));

test('a text is read item by item as JSON.parse reads it, and refused where that refuses it', () => {
  fc.assert(
    fc.property(fc.oneof(almostDocument, anything, fc.json()), (text) => {
      const read = outcome(() => whole(ofText(text)));
      // Of two members of one name JSON takes the last.
      fc.pre(read !== 'twice');
      expect(read).toEqual(outcome(() => JSON.parse(text) as unknown));
    }),
    { numRuns: 1_000 },
  );
});

test.each([
  ['{"merchants":[{"id":"a"},{"id":"b"}],"version":1}', { version: 1, merchants: [{ id: 'a' }, { id: 'b' }] }],
  ['\ufeff{"merchants":[{"id":"ü]"}]}', { merchants: [{ id: 'ü]' }] }],
  ['{"merch\\u0061nts":[1,2]}', { merchants: [1, 2] }],
])('%s', (text, value) => expect(whole(ofText(text))).toEqual(value));

test.each([
  ['{"merchants":[1],"merch\\u0061nts":[]}', 'body.name_repeated'],
  ['{"merchants":[x],"merchants":7}', 'body.name_repeated'],
  ['{"version":1,"version":1}', 'body.name_repeated'],
  ['{"plans":{"a":[1]},"plans":[1]}', 'body.name_repeated'],
  ['{"merchants":[{"id":"a"},{"id":"b","id":"c"}]}', 'body.name_repeated'],
  ['{"merchants":[1,]}', 'body.malformed'],
  ['{"merchants":[1', 'body.malformed'],
  ['{"merchants":[{"a":}]}', 'body.malformed'],
  [`{"merchants":[${'['.repeat(40)}${']'.repeat(40)}]}`, 'body.nested_too_deeply'],
])('%s has the fault %s', (text, code) => {
  expect(() => whole(ofText(text))).toThrow(expect.objectContaining({ status: 400, code }) as Error);
});

test('bytes that are no UTF-8 are refused', () => {
  expect(() => DocumentText.ofJson(Buffer.from([0x22, 0xff, 0x22]))).toThrow(expect.objectContaining({ code: 'body.malformed' }) as Error);
});

test('requests with the same text are alike, and no others', () => {
  const alike = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  expect(alike(ofText('{"merchants":[1]}'), ofText('{"merchants":[1]}'))).toBe(true);
  expect(alike(ofText('{"merchants":[1]}'), ofText('{"merchants":[2]}'))).toBe(false);
  expect(alike(DocumentText.ofValue({ merchants: [1] }), DocumentText.ofValue({ merchants: [2] }))).toBe(false);
});

test('what was read from something else than JSON has the same parts', () => {
  for (const value of [null, 'a', [1], { merchants: [1, 2], version: 1 }, { merchants: {} }])
    expect(whole(DocumentText.ofValue(value))).toEqual(value);
});
