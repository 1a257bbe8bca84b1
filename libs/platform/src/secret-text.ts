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

const HASH_BYTES = 32;
const PREFIX_LENGTH = 12;

/** Makes and recognises secrets like `tga_5f0c2a91be04_…`: their kind, the prefix by which they are found, and 256 random bits. */
export class SecretText {
  private readonly form: RegExp;
  /** The hash of the text that is being compared: one piece of memory for all, because that of a Buffer each costs more than its hash. */
  private readonly found = Buffer.alloc(HASH_BYTES);

  /** @param hash what is stored of a secret, HASH_BYTES of them, each a character */
  constructor(
    private readonly kind: SecretKind,
    private readonly hash: (token: string) => string,
  ) {
    this.form = new RegExp(`^${kind}_[0-9a-f]{${PREFIX_LENGTH}}_[A-Za-z0-9_-]{43}$`);
  }

  make(): NewSecret {
    const prefix = randomBytes(PREFIX_LENGTH / 2).toString('hex');
    const token = `${this.kind}_${prefix}_${randomBytes(32).toString('base64url')}`;
    return { token, prefix, hash: Buffer.from(this.hash(token), 'latin1') };
  }

  /** Whether a text says of itself that it is of this kind, be it a valid one or not. */
  claims(text: string): boolean {
    return text.startsWith(`${this.kind}_`);
  }

  /** The prefix by which a secret is found; nothing if the text cannot be one of this kind. */
  prefixOf(text: string): string | undefined {
    const from = this.kind.length + 1;
    return this.form.test(text) ? text.slice(from, from + PREFIX_LENGTH) : undefined;
  }

  /** Compares in one time, whatever is equal. */
  matches(text: string, hash: Buffer): boolean {
    this.found.write(this.hash(text), 'latin1');
    return hash.length === HASH_BYTES && timingSafeEqual(this.found, hash);
  }
}

/**
 * The API keys of merchants. Their hash has no key of its own: a gateway recognises them and has no secret of the Rules API, and nobody finds
 * 256 random bits by trying, as would be possible for a password. In one call, and as a text: a gateway does it for each request, and the object of
 * `createHash`, or the memory of a Buffer, costs more than the hash.
 */
export const API_KEY_TEXT = new SecretText('tgk', (token) => hash('sha256', token, 'binary'));
