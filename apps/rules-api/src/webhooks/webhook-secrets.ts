import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const FORMAT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES;

/** As Standard Webhooks writes secrets. */
const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

export interface NewSecret {
  /** Shown once. */
  readonly text: string;
  /** What is stored. */
  readonly sealed: Buffer;
}

/** Makes the secrets by which deliveries are signed, and keeps them encrypted, so that a copy of the database alone signs nothing. */
export class WebhookSecrets {
  private readonly key: Buffer;

  /** @param secret from the configuration; with another one no stored secret can be read any more */
  constructor(secret: string) {
    this.key = Buffer.from(hkdfSync('sha256', secret, '', 'tollgate webhook secrets', 32));
  }

  make(): NewSecret {
    const bytes = randomBytes(SECRET_BYTES);
    return { text: PREFIX + bytes.toString('base64'), sealed: this.seal(bytes) };
  }

  /** The bytes of a stored secret; undefined if they cannot be read: it was sealed with another key, or altered. */
  open(sealed: Buffer): Buffer | undefined {
    if (sealed.length <= HEAD_BYTES || sealed[0] !== FORMAT) return undefined;
    const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
    const decipher = createDecipheriv(CIPHER, this.key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, HEAD_BYTES));
    try {
      return Buffer.concat([decipher.update(sealed.subarray(HEAD_BYTES)), decipher.final()]);
    } catch {
      return undefined;
    }
  }

  private seal(bytes: Buffer): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.key, nonce, { authTagLength: TAG_BYTES });
    const text = Buffer.concat([cipher.update(bytes), cipher.final()]);
    return Buffer.concat([Buffer.of(FORMAT), nonce, cipher.getAuthTag(), text]);
  }
}
