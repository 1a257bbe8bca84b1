import { LAYERS, type Layer, type Mode } from './rule.js';
import { RULE_ORIGINS, type RuleTemplate } from './rule-template.js';

/** The rules of a layer in the order in which they are asked: the first that matches is chosen. */
export interface RuleLayer {
  readonly layer: Layer;
  readonly enforced: readonly RuleTemplate[];
  readonly shadow: readonly RuleTemplate[];
}

/** The layers that have rules, in their order. */
export function layersOf(rules: readonly RuleTemplate[]): readonly RuleLayer[] {
  return LAYERS.flatMap((layer) => {
    const here = rules.filter(({ rule }) => rule.layer === layer);
    return here.length === 0 ? [] : [layerOf(layer, here)];
  });
}

/** Only the layers in which there are own rules are made anew, and of the shared rules nothing is copied. */
export function mergedLayers(own: readonly RuleTemplate[], shared: readonly RuleLayer[]): readonly RuleLayer[] {
  return LAYERS.flatMap((layer) => {
    const ownHere = own.filter(({ rule }) => rule.layer === layer);
    const sharedHere = shared.filter((each) => each.layer === layer);
    return ownHere.length === 0 ? sharedHere : [layerOf(layer, [...ownHere, ...sharedHere.flatMap(rulesOf)])];
  });
}

export function rulesOf({ enforced, shadow }: RuleLayer): RuleTemplate[] {
  return [...enforced, ...shadow];
}

function layerOf(layer: Layer, rules: readonly RuleTemplate[]): RuleLayer {
  const inMode = (mode: Mode) => rules.filter(({ rule }) => rule.mode === mode).sort(inOrder);
  return { layer, enforced: inMode('enforce'), shadow: inMode('shadow') };
}

/** The highest priority first; on a tie the merchant's own before its plan's, its plan's before a default one; then the older. */
function inOrder(a: RuleTemplate, b: RuleTemplate): number {
  return b.rule.priority - a.rule.priority || rankOf(a) - rankOf(b) || compareIds(a.rule.id, b.rule.id);
}

function rankOf({ source }: RuleTemplate): number {
  return RULE_ORIGINS.indexOf(source);
}

/** Ids are decimal strings, the older the smaller. */
function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** The method by which rules are matched. HEAD asks for what GET would get, so it follows the rules for GET, unless one of these rules that concerns the path names HEAD. */
export function askedMethod(rules: readonly RuleTemplate[], method: string, segments: readonly string[], ignoreCase: boolean): string {
  const namesHead = (template: RuleTemplate) => template.rule.match.methods.includes('HEAD') && template.concerns(segments, ignoreCase);
  return method === 'HEAD' && !rules.some(namesHead) ? 'GET' : method;
}

/** The first condition of a rule that a request does not meet; undefined if it meets all. @param asked as `askedMethod` says */
export function mismatchOf(
  template: RuleTemplate,
  asked: string,
  segments: readonly string[],
  ignoreCase: boolean,
): 'method' | 'path' | undefined {
  const { methods } = template.rule.match;
  if (methods.length > 0 && !methods.includes(asked)) return 'method';
  return template.concerns(segments, ignoreCase) ? undefined : 'path';
}

/** The rule that is asked first of those whose conditions hold. */
export function firstMatch(
  rules: readonly RuleTemplate[],
  method: string,
  segments: readonly string[],
  ignoreCase: boolean,
): RuleTemplate | undefined {
  const asked = askedMethod(rules, method, segments, ignoreCase);
  for (const template of rules) if (mismatchOf(template, asked, segments, ignoreCase) === undefined) return template;
  return undefined;
}
