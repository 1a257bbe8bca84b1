import * as fc from 'fast-check';
import { createHash } from 'node:crypto';
import { digestOf } from './digest.js';

test('a digest is the beginning of the SHA-256 of the code units', () => {
  const check = (text: string) => {
    const bytes = Buffer.from(text, 'utf16le').swap16();
    expect(digestOf(text)).toBe(createHash('sha256').update(bytes).digest('base64url').slice(0, 24));
  };
  // Lengths around the ends of blocks.
  for (let length = 0; length < 140; length++) check('x'.repeat(length));
  fc.assert(fc.property(fc.string({ unit: 'binary' }), check));
  check('\ud800');
});
