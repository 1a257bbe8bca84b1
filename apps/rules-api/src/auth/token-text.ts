import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { HashedToken } from '#rules-db';

/** `tga` says what it is, to people and to scanners for leaked secrets; then the prefix by which it is found, and 256 random bits. */
const FORM = /^tga_([0-9a-f]{12})_[A-Za-z0-9_-]{43}$/;

/** A token, to be shown once, and what is stored in its place. */
export interface NewToken extends HashedToken {
  readonly token: string;
}

/** Makes and recognises tokens. Their hashes are keyed, so that a copy of the database alone tells nothing about them. */
export class TokenText {
  private readonly key: Buffer;

  /** @param secret from the configuration; another secret makes every token void */
  constructor(secret: string) {
    this.key = Buffer.from(hkdfSync('sha256', secret, '', 'tollgate api tokens', 32));
  }

  make(): NewToken {
    const prefix = randomBytes(6).toString('hex');
    const token = `tga_${prefix}_${randomBytes(32).toString('base64url')}`;
    return { token, prefix, hash: this.hash(token) };
  }

  /** The prefix by which a token is found; nothing if the text cannot be a token of ours. */
  prefixOf(text: string): string | undefined {
    return FORM.exec(text)?.[1];
  }

  /** Compares in one time, whatever is equal. */
  matches(text: string, hash: Buffer): boolean {
    const found = this.hash(text);
    return hash.length === found.length && timingSafeEqual(found, hash);
  }

  private hash(token: string): Buffer {
    return createHmac('sha256', this.key).update(token).digest();
  }
}
