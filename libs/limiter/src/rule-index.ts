import { pathSegments } from './path-pattern.js';
import type { RuleTemplate } from './rule-template.js';

/** Fewer rules are asked one after the other as fast. */
export const FEWEST_INDEXED = 8;

interface Node {
  /** Rules one of whose paths begins with the segments that lead here, as far as those are plain. In their order. */
  rules: readonly RuleTemplate[];
  /** Most nodes have one that follows: to compare its segment costs less than to look it up. */
  onlySegment: string | undefined;
  only: Node | undefined;
  /** If there are several. */
  next: Map<string, Node> | undefined;
}

/**
 * Finds those of a list of rules that may concern a path: a tree of the segments with which their paths begin, up to the first one with a star. Methods and
 * conditions are not in it: of the rules of one path few differ by nothing else.
 *
 * Made when it is first asked, for paths with or without regard to case, whichever that is: of one process all requests are the same in this.
 */
export class RuleIndex {
  private root: Node | undefined;
  private ignoresCase = false;

  /** @param rules in the order in which they are asked */
  constructor(private readonly rules: readonly RuleTemplate[]) {}

  /** Adds lists in which each rule is found that may concern a path; each list is in the order of the rules. One rule may be in several. */
  addCandidates(segments: readonly string[], ignoreCase: boolean, lists: (readonly RuleTemplate[])[]): void {
    const root = this.rules.length < FEWEST_INDEXED ? undefined : this.rootFor(ignoreCase);
    if (root === undefined) {
      if (this.rules.length > 0) lists.push(this.rules);
      return;
    }
    let node: Node | undefined = root;
    for (let depth = 0; node !== undefined; depth++) {
      if (node.rules.length > 0) lists.push(node.rules);
      node = depth < segments.length ? nextOf(node, segments[depth]!) : undefined;
    }
  }

  private rootFor(ignoreCase: boolean): Node | undefined {
    if (this.root === undefined) {
      this.ignoresCase = ignoreCase;
      this.root = treeOf(this.rules, ignoreCase);
    }
    return this.ignoresCase === ignoreCase ? this.root : undefined;
  }
}

function treeOf(rules: readonly RuleTemplate[], ignoreCase: boolean): Node {
  const root = newNode();
  for (const template of rules) {
    const { paths } = template.rule.match;
    if (paths.length === 0) addTo(root, [], template);
    for (const pattern of paths) addTo(root, plainBeginning(pattern, ignoreCase), template);
  }
  return root;
}

function addTo(root: Node, segments: readonly string[], template: RuleTemplate): void {
  let node = root;
  for (const segment of segments) node = nextOf(node, segment) ?? withNext(node, segment);
  // Two paths of one rule may begin alike.
  // Most have one rule, so the list is as long as it has to be.
  if (node.rules.at(-1) !== template) node.rules = node.rules.concat(template);
}

function plainBeginning(pattern: string, ignoreCase: boolean): readonly string[] {
  const segments = pathSegments(pattern, ignoreCase);
  const star = segments.findIndex((segment) => segment.includes('*'));
  return star === -1 ? segments : segments.slice(0, star);
}

const NONE: readonly RuleTemplate[] = [];
const newNode = (): Node => ({ rules: NONE, onlySegment: undefined, only: undefined, next: undefined });

function nextOf({ next, only, onlySegment }: Node, segment: string): Node | undefined {
  if (next !== undefined) return next.get(segment);
  return onlySegment === segment ? only : undefined;
}

function withNext(node: Node, segment: string): Node {
  const made = newNode();
  if (node.next !== undefined) node.next.set(segment, made);
  else if (node.only === undefined) [node.onlySegment, node.only] = [segment, made];
  else {
    node.next = new Map([
      [node.onlySegment!, node.only],
      [segment, made],
    ]);
    [node.onlySegment, node.only] = [undefined, undefined];
  }
  return made;
}
