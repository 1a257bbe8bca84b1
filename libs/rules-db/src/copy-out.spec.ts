import { copiedField } from './copy-out.js';

describe('copiedField', () => {
  it.each<[copied: string, field: string | null]>([
    ['', ''],
    ['plain', 'plain'],
    ['\\N', null],
    ['\\\\N', '\\N'],
    ['a\\tb\\nc\\rd', 'a\tb\nc\rd'],
    ['\\b\\f\\v', '\b\f\v'],
    ['{"a": "\\\\"quoted\\\\" \\\\\\\\"}', '{"a": "\\"quoted\\" \\\\"}'],
    ['ü 🙂', 'ü 🙂'],
  ])('%s', (copied, field) => {
    expect(copiedField(copied)).toBe(field);
  });
});
