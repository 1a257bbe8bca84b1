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

describe('the reason of a change in its body', () => {
  it.each([
    ['no header', undefined, { reason: 'ticket OPS-17' }, 'ticket OPS-17'],
    ['an empty header', ' ', { reason: 'ticket OPS-17' }, 'ticket OPS-17'],
    ['the same in the header', asRead(Buffer.from('Müller')), { reason: 'Müller' }, 'Müller'],
    ['a header and a body without it', 'ticket OPS-17', { name: 'x' }, 'ticket OPS-17'],
    ['a header and no body', 'ticket OPS-17', null, 'ticket OPS-17'],
    ['a body that is a list', undefined, ['x'], undefined],
    ['a field that is no text, which the check of the body refuses', undefined, { reason: 5 }, undefined],
    ['a field with a control character', undefined, { reason: 'a\tb' }, undefined],
  ])('with %s it is read', (_what, header, body, reason) => expect(changeReason(header, body)).toBe(reason));

  it('that differs from the header is refused', () => {
    expect(() => changeReason('ticket OPS-17', { reason: 'ticket OPS-18' })).toThrow(
      expect.objectContaining({
        status: 400,
        errors: [expect.objectContaining({ pointer: '/reason', code: 'change_reason.contradictory' })],
      }),
    );
  });
});
