import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** What a secret of ours is for. It stands in front of it, for people and for scanners for leaked secrets. */
export type SecretKind = 'tga' | 'tgk';

/** A secret, to be shown once, and what is stored in its place. */
export interface NewSecret {
  readonly token: string;
  /** The part by which it is found. */
  readonly prefix: string;
  readonly hash: Buffer;
}

/** Makes and recognises secrets like `tga_5f0c2a91be04_…`: their kind, the prefix by which they are found, and 256 random bits. */
export class SecretText {
  private readonly form: RegExp;

  /** @param hash what is stored of a secret; of one length, whatever the secret */
  constructor(
    private readonly kind: SecretKind,
    private readonly hash: (token: string) => Buffer,
  ) {
    this.form = new RegExp(`^${kind}_([0-9a-f]{12})_[A-Za-z0-9_-]{43}$`);
  }

  make(): NewSecret {
    const prefix = randomBytes(6).toString('hex');
    const token = `${this.kind}_${prefix}_${randomBytes(32).toString('base64url')}`;
    return { token, prefix, hash: this.hash(token) };
  }

  /** Whether a text says of itself that it is of this kind, be it a valid one or not. */
  claims(text: string): boolean {
    return text.startsWith(`${this.kind}_`);
  }

  /** The prefix by which a secret is found; nothing if the text cannot be one of this kind. */
  prefixOf(text: string): string | undefined {
    return this.form.exec(text)?.[1];
  }

  /** Compares in one time, whatever is equal. */
  matches(text: string, hash: Buffer): boolean {
    const found = this.hash(text);
    return hash.length === found.length && timingSafeEqual(found, hash);
  }
}

/**
 * The API keys of merchants. Their hash has no key of its own: a gateway recognises them and has no secret of the Rules API, and nobody finds
 * 256 random bits by trying, as would be possible for a password. In one call: a gateway does it for each request, and the object of `createHash` costs
 * many times the hash.
 */
export const API_KEY_TEXT = new SecretText('tgk', (token) => hash('sha256', token, 'buffer'));
