import { createHash } from 'node:crypto';
import { API_KEY_TEXT } from './secret-text.js';

describe('the text of an API key', () => {
  it('says what it is, and has 256 random bits', () => {
    const { token, prefix, hash } = API_KEY_TEXT.make();
    expect(token).toMatch(new RegExp(`^tgk_${prefix}_[A-Za-z0-9_-]{43}$`));
    expect(API_KEY_TEXT.make().token).not.toBe(token);
    expect(hash).toEqual(createHash('sha256').update(token).digest());
    expect(API_KEY_TEXT.prefixOf(token)).toBe(prefix);
    expect(API_KEY_TEXT.matches(token, hash)).toBe(true);
  });

  it.each([
    ['a token of an administrator', (key: string) => key.replace('tgk_', 'tga_')],
    ['one with a character less', (key: string) => key.slice(0, -1)],
    ['one with a character more', (key: string) => `${key}A`],
    ['one with a space in front', (key: string) => ` ${key}`],
    ['one with a line break behind it', (key: string) => `${key}\n`],
    ['one in capitals', (key: string) => key.toUpperCase()],
    ['nothing', () => ''],
  ])('%s is none', (_what, change) => {
    expect(API_KEY_TEXT.prefixOf(change(API_KEY_TEXT.make().token))).toBeUndefined();
  });

  it('another key with the same prefix is another key', () => {
    const { token, prefix, hash } = API_KEY_TEXT.make();
    const other = `tgk_${prefix}_${API_KEY_TEXT.make().token.slice(-43)}`;
    expect(API_KEY_TEXT.prefixOf(other)).toBe(prefix);
    expect(API_KEY_TEXT.matches(other, hash)).toBe(false);
    expect(API_KEY_TEXT.matches(token, Buffer.alloc(0))).toBe(false);
  });
});
