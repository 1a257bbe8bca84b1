import { WebhookSecrets } from './webhook-secrets.js';

describe('WebhookSecrets', () => {
  const secrets = new WebhookSecrets('a-secret-of-the-tests');

  it('reads what it has sealed, and shows it nowhere', () => {
    const { text, sealed } = secrets.make();
    expect(text).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const bytes = Buffer.from(text.slice('whsec_'.length), 'base64');
    expect(secrets.open(sealed)).toEqual(bytes);
    expect(sealed.includes(bytes)).toBe(false);
  });

  it('makes another one each time', () => {
    expect(secrets.make().text).not.toBe(secrets.make().text);
  });

  it('does not read what was sealed with another key, or altered', () => {
    const { sealed } = secrets.make();
    expect(new WebhookSecrets('another-secret-of-the-tests').open(sealed)).toBeUndefined();
    for (const at of [0, 1, 13, 29, sealed.length - 1]) {
      const altered = Buffer.from(sealed);
      altered[at]! ^= 1;
      expect(secrets.open(altered)).toBeUndefined();
    }
    expect(secrets.open(sealed.subarray(0, 29))).toBeUndefined();
    expect(secrets.open(Buffer.alloc(0))).toBeUndefined();
  });
});
