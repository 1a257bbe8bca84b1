import { changeReason } from './change-reason.js';

/** Bytes as Node hands them over. */
const asRead = (bytes: Buffer): string => bytes.toString('latin1');

describe('the reason of a change', () => {
  it.each([
    ['none', undefined, undefined],
    ['spaces only', '   ', undefined],
    ['ASCII', 'ticket OPS-17', 'ticket OPS-17'],
    ['UTF-8, as curl sends it', asRead(Buffer.from('Müller – 検査 🙂')), 'Müller – 検査 🙂'],
    ['Latin-1, as a browser sends it', asRead(Buffer.from('Müller', 'latin1')), 'Müller'],
    ['500 characters', 'x'.repeat(500), 'x'.repeat(500)],
  ])('%s is read', (_what, header, reason) => expect(changeReason(header)).toBe(reason));

  it.each([
    ['501 characters', 'x'.repeat(501)],
    ['a tab', 'a\tb'],
    ['an escape sequence', '\u001b[31m'],
  ])('%s is refused', (_what, header) =>
    expect(() => changeReason(header)).toThrow(/X-Change-Reason must be a text of at most 500 characters/),
  );
});
