import { textHash } from '#limiter';

/** Texts that are known at once; a power of two. 64 KB in all. */
const PLACES = 2 ** 14;

/**
 * Tells whether a text came before, not long ago, and remembers it: so a cache takes up only what comes again (the doorkeeper of TinyLFU, Einziger et al., 2017).
 * It keeps hashes and no texts, in memory that never grows, so that a flood of texts that come once leaves nothing behind. A newer text takes the place of an
 * older one; and one text in billions is taken for another, which does no harm where what is cached is found by the whole text.
 */
export class Doorkeeper {
  private readonly hashes = new Uint32Array(PLACES);

  cameBefore(text: string): boolean {
    // 0 is an empty place.
    const hash = textHash(text) || 1;
    const place = hash & (PLACES - 1);
    const cameBefore = this.hashes[place] === hash;
    this.hashes[place] = hash;
    return cameBefore;
  }
}
