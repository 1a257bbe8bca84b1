import { createHmac, hkdfSync } from 'node:crypto';
import { SecretText } from '#platform';

/** Makes and recognises the tokens of administrators and machines. Their hashes are keyed, so that a copy of the database alone tells nothing about them. */
export class TokenText extends SecretText {
  /** @param secret from the configuration; another secret makes every token void */
  constructor(secret: string) {
    const key = Buffer.from(hkdfSync('sha256', secret, '', 'tollgate api tokens', 32));
    super('tga', (token) => createHmac('sha256', key).update(token).digest('binary'));
  }
}
