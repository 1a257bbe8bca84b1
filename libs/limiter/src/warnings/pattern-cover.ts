import { pathSegments } from '../matching/path-pattern.js';

/**
 * Whether one path pattern matches every path that another one matches. Exact for two patterns: each is a list of segments, with at most one `**` for any
 * number of them, so the question falls apart into one for each segment. It is asked as rules are matched, with regard to case and without.
 */
export function patternCovers(wide: PatternShape, narrow: PatternShape): boolean {
  return shapeCovers(wide.exact, narrow.exact) && shapeCovers(wide.anyCase, narrow.anyCase);
}

/** A pattern taken apart. */
export interface PatternShape {
  readonly exact: Shape;
  readonly anyCase: Shape;
}

interface Shape {
  readonly head: readonly Segment[];
  /** What stands behind `**`; nothing if there is none. */
  readonly tail: readonly Segment[] | undefined;
}

/** A text, or with a star in it what stands before and behind the star. */
type Segment = string | { readonly prefix: string; readonly suffix: string };

export function patternShape(pattern: string): PatternShape {
  return { exact: shapeOf(pathSegments(pattern)), anyCase: shapeOf(pathSegments(pattern, true)) };
}

function shapeOf(segments: readonly string[]): Shape {
  const wild = segments.indexOf('**');
  return wild === -1
    ? { head: segments.map(segmentOf), tail: undefined }
    : { head: segments.slice(0, wild).map(segmentOf), tail: segments.slice(wild + 1).map(segmentOf) };
}

function segmentOf(text: string): Segment {
  const star = text.indexOf('*');
  return star === -1 ? text : { prefix: text.slice(0, star), suffix: text.slice(star + 1) };
}

function shapeCovers(wide: Shape, narrow: Shape): boolean {
  const fewest = lengthOf(narrow);
  if (wide.tail === undefined) {
    // Any number of segments is more than a certain number of them.
    return narrow.tail === undefined && wide.head.length === fewest && allCovered(wide.head, narrow.head);
  }
  if (fewest < lengthOf(wide)) return false;
  // Without `**` the end of the narrow one is the end of its head.
  const ending = narrow.tail ?? narrow.head;
  return allCovered(wide.head, narrow.head) && allCovered([...wide.tail].reverse(), [...ending].reverse());
}

function lengthOf({ head, tail }: Shape): number {
  return head.length + (tail?.length ?? 0);
}

/** @param narrow where it ends, its `**` begins: there any segment may stand */
function allCovered(wide: readonly Segment[], narrow: readonly Segment[]): boolean {
  return wide.every((segment, i) => segmentCovers(segment, narrow[i] ?? ANY));
}

const ANY: Segment = { prefix: '', suffix: '' };

function segmentCovers(wide: Segment, narrow: Segment): boolean {
  if (typeof wide === 'string') return wide === narrow;
  const { prefix, suffix } = wide;
  if (typeof narrow !== 'string') return narrow.prefix.startsWith(prefix) && narrow.suffix.endsWith(suffix);
  return narrow.length >= prefix.length + suffix.length && narrow.startsWith(prefix) && narrow.endsWith(suffix);
}
