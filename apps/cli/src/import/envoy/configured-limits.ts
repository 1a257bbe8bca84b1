import { descriptorPattern } from '#envoy';
import type { ConfiguredDescriptor, ConfiguredLimit, RatelimitFile } from './ratelimit-file.js';

/** A node on the way to a limit, and what stands beside it. */
export interface Step {
  readonly node: ConfiguredDescriptor;
  /** In the order of the file, without the node itself. */
  readonly siblings: readonly ConfiguredDescriptor[];
  /** Place of the node among them and itself. */
  readonly index: number;
}

/** A limit of the file, and the nodes that lead to it. */
export interface PlacedLimit {
  readonly limit: ConfiguredLimit;
  /** At least one. The last has the limit. */
  readonly path: readonly Step[];
}

export const lastOf = ({ path }: Pick<PlacedLimit, 'path'>): Step => path.at(-1)!;

/** All limits of a file, from top to bottom. */
export function limitsIn(descriptors: readonly ConfiguredDescriptor[], above: readonly Step[] = []): PlacedLimit[] {
  return descriptors.flatMap((node, index) => {
    const path = [...above, { node, siblings: descriptors.filter((each) => each !== node), index }];
    const own = node.limit === undefined ? [] : [{ limit: node.limit, path }];
    return [...own, ...limitsIn(node.descriptors, path)];
  });
}

export const hasStar = ({ value }: Pick<ConfiguredDescriptor, 'value'>): boolean => value?.includes('*') ?? false;

export type Kind = 'exact' | 'star' | 'any';

export function kindOf(node: Pick<ConfiguredDescriptor, 'value'>): Kind {
  if (node.value === undefined) return 'any';
  return hasStar(node) ? 'star' : 'exact';
}

/** The siblings that are asked before a node: a value before one with a star, the first of those with a star, and all of these before any value. */
export function askedBefore({ node, siblings, index }: Step): readonly ConfiguredDescriptor[] {
  const kind = kindOf(node);
  const sameKey = siblings.filter(({ key }) => key === node.key);
  if (kind === 'exact') return [];
  if (kind === 'any') return sameKey;
  const prefix = node.value!.slice(0, node.value!.indexOf('*'));
  return sameKey.filter((each) => {
    if (kindOf(each) === 'exact') return each.value!.startsWith(prefix);
    return kindOf(each) === 'star' && siblings.indexOf(each) < index;
  });
}

/** The glob of the descriptors to which a limit applies, or with another node in place of that of a step. */
export function patternOf(
  { domain }: Pick<RatelimitFile, 'domain'>,
  path: readonly Step[],
  at = -1,
  instead?: ConfiguredDescriptor,
): string {
  return descriptorPattern(
    domain,
    path.map(({ node }, i) => (i === at && instead !== undefined ? instead : node)),
  );
}
