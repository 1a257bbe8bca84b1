import { BESIDE_HEADER, DESCRIPTOR_HEADER } from '#envoy';
import type { Condition } from '#limiter';
import { askedBefore, lastOf, patternOf, type PlacedLimit, type Step } from './configured-limits.js';
import type { ConfiguredDescriptor, RatelimitFile } from './ratelimit-file.js';
import type { Reader } from './reader.js';

const DESCRIPTOR = `header.${DESCRIPTOR_HEADER}`;
const BESIDE = `header.${BESIDE_HEADER}`;

/** What a rule can say: see condition.ts and condition-fields.ts of the limiter. */
const MOST_CONDITIONS = 50;
const MOST_VALUES = 100;
const LONGEST_TEXT = 256;

/**
 * When a limit applies: to descriptors of its form, but not to those for which envoyproxy/ratelimit finds another node first, even where that leads nowhere; and
 * not in a call to which a limit applies that replaces it. Where both would be limits at the same place, their priorities decide, which costs no condition.
 */
export function conditionsOf(file: RatelimitFile, all: readonly PlacedLimit[], placed: PlacedLimit, reader: Reader): Condition[] {
  const { path } = placed;
  const { pointer } = lastOf(placed).node;
  const excluded = path.flatMap((step, i) => exclusions(step, i === path.length - 1, all).map((node) => patternOf(file, path, i, node)));
  const replacing = replacedBy(placed, all).map((other) => patternOf(file, other.path));
  const conditions = [
    matching(DESCRIPTOR, patternOf(file, path)),
    ...noneOf(excluded),
    ...replacing.map((pattern) => ({ not: matching(BESIDE, pattern) })),
  ];
  if ([patternOf(file, path), ...excluded, ...replacing].some((pattern) => pattern.length > LONGEST_TEXT))
    reader.fault(pointer, `cannot be translated: domain, keys and values have more than ${LONGEST_TEXT} characters together`);
  if (conditions.length * 2 - 1 > MOST_CONDITIONS)
    reader.fault(pointer, 'cannot be translated: too many values stand beside it that have to be excepted');
  return conditions;
}

/** The limits that replace a limit. */
function replacedBy({ limit: { name } }: PlacedLimit, all: readonly PlacedLimit[]): readonly PlacedLimit[] {
  return name === undefined ? [] : all.filter(({ limit }) => limit.replaces.includes(name));
}

function exclusions(step: Step, isLast: boolean, all: readonly PlacedLimit[]): readonly ConfiguredDescriptor[] {
  const before = askedBefore(step);
  return isLast ? before.filter((node) => !isRival(node, step.node, all)) : before;
}

/** Whether both are rules that compete by priority whenever both apply: then one of them always does. */
function isRival(other: ConfiguredDescriptor, node: ConfiguredDescriptor, all: readonly PlacedLimit[]): boolean {
  if (other.limit === undefined || other.shadow !== node.shadow) return false;
  return (
    replacedBy(
      all.find((placed) => lastOf(placed).node === other)!,
      all,
    ).length === 0
  );
}

function noneOf(patterns: readonly string[]): Condition[] {
  const exact = patterns.filter((pattern) => !pattern.includes('*'));
  const lists = Array.from({ length: Math.ceil(exact.length / MOST_VALUES) }, (_, i) =>
    exact.slice(i * MOST_VALUES, (i + 1) * MOST_VALUES),
  );
  return [
    ...lists.map((list) => ({ not: { field: DESCRIPTOR, in: list } })),
    ...patterns.filter((pattern) => pattern.includes('*')).map((like) => ({ not: { field: DESCRIPTOR, like } })),
  ];
}

function matching(field: string, pattern: string): Condition {
  return pattern.includes('*') ? { field, like: pattern } : { field, equals: pattern };
}
