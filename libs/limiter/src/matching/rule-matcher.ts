import type { AskedRequest } from './asked-request.js';
import type { EffectiveMode } from './enforced-share.js';
import { LAYERS, type Layer, type Rule } from '../rules/rule.js';
import { RuleFinder } from './rule-finder.js';
import { namesMethod } from '../rules/rule-method.js';
import { compareRules } from './rule-order.js';
import type { RuleTemplate } from './rule-template.js';
import type { InactiveReason } from '../schedule/active-times.js';

/** The rules of a layer in the order in which they are asked: the first that matches is chosen. A rule that is enforced for some requests only stands in both. */
export interface RuleLayer {
  readonly layer: Layer;
  readonly enforced: readonly RuleTemplate[];
  readonly shadow: readonly RuleTemplate[];
  /** What finds them by the path of a request. */
  readonly finders: Readonly<Record<EffectiveMode, RuleFinder>>;
}

/** The layers that have rules, in their order. @param rules of one owner */
export function layersOf(rules: readonly RuleTemplate[]): readonly RuleLayer[] {
  return mergedLayers(rules, []);
}

/** Only the layers in which there are own rules are made anew, and of the shared rules nothing is copied. @param own of one owner */
export function mergedLayers(own: readonly RuleTemplate[], shared: readonly RuleLayer[]): readonly RuleLayer[] {
  return LAYERS.flatMap((layer) => {
    const ownHere = own.filter(({ rule }) => rule.layer === layer);
    const sharedHere = shared.find((each) => each.layer === layer);
    if (ownHere.length === 0) return sharedHere === undefined ? [] : [sharedHere];
    return [layerOf(layer, ownHere, sharedHere)];
  });
}

export function rulesOf({ enforced, shadow }: RuleLayer): RuleTemplate[] {
  return [...new Set([...enforced, ...shadow])];
}

/** A layer in which some rules are others: `under` gives the one in the place of a rule, with the same paths and the same place in the order, or the rule. */
export function layerUnder(layer: RuleLayer, under: (template: RuleTemplate) => RuleTemplate): RuleLayer {
  const replaced = new Map<RuleTemplate, RuleTemplate>();
  const each = (template: RuleTemplate): RuleTemplate => {
    const other = under(template);
    if (other !== template) replaced.set(template, other);
    return other;
  };
  const [enforced, shadow] = [layer.enforced.map(each), layer.shadow.map(each)];
  if (replaced.size === 0) return layer;
  const { enforce, shadow: inShadow } = layer.finders;
  return { ...layer, enforced, shadow, finders: { enforce: enforce.replacing(replaced), shadow: inShadow.replacing(replaced) } };
}

function layerOf(layer: Layer, own: readonly RuleTemplate[], shared: RuleLayer | undefined): RuleLayer {
  const inMode = (mode: EffectiveMode) => own.filter((template) => template.mayBe(mode)).sort(compareRules);
  const [enforced, shadow] = [inMode('enforce'), inMode('shadow')];
  const finders = { enforce: RuleFinder.of(enforced, shared?.finders.enforce), shadow: RuleFinder.of(shadow, shared?.finders.shadow) };
  if (shared === undefined) return { layer, enforced, shadow, finders };
  const merged = (some: readonly RuleTemplate[], others: readonly RuleTemplate[]) => [...some, ...others].sort(compareRules);
  return { layer, enforced: merged(enforced, shared.enforced), shadow: merged(shadow, shared.shadow), finders };
}

/**
 * The method by which rules are matched. HEAD asks for what GET would get, so it follows the rules for GET, unless one of these rules that concerns the
 * request otherwise names HEAD.
 */
export function askedMethod({ finders }: RuleLayer, mode: EffectiveMode, request: AskedRequest): string {
  const { method } = request;
  if (method !== 'HEAD') return method;
  const namesHead = (template: RuleTemplate) => template.rule.match.methods.includes('HEAD') && isFitting(template, mode, method, request);
  return finders[mode].find(request, namesHead) === undefined ? 'GET' : method;
}

/** The part of a rule that does not fit a request. */
export type Mismatch = 'method' | 'path' | 'conditions' | InactiveReason;

/** The first part of a rule that a request does not fit; undefined if it fits the whole. What costs least is asked first. @param asked as `askedMethod` says */
export function mismatchOf(template: RuleTemplate, asked: string, request: AskedRequest): Mismatch | undefined {
  const { methods } = template.rule.match;
  if (!namesMethod(methods, asked)) return 'method';
  if (!template.concerns(request.segments, request.ignoreCase)) return 'path';
  const inactive = template.active?.(request.nowMs);
  if (inactive !== undefined) return inactive;
  return template.conditions === undefined || template.conditions.holds(request.fields) ? undefined : 'conditions';
}

/** The rule that is asked first of those that a request fits, and that have this mode for it. */
export function firstMatch(layer: RuleLayer, mode: EffectiveMode, request: AskedRequest): RuleTemplate | undefined {
  const asked = askedMethod(layer, mode, request);
  return layer.finders[mode].find(request, (template) => isFitting(template, mode, asked, request));
}

function isFitting(template: RuleTemplate, mode: EffectiveMode, asked: string, request: AskedRequest): boolean {
  return mismatchOf(template, asked, request) === undefined && template.modeFor(request.descriptor) === mode;
}

/** Whether a rule of a layer looks at the body of a request, and concerns it as far as can be said without. */
export function looksAtBody({ finders }: RuleLayer, request: AskedRequest): boolean {
  const looks = (template: RuleTemplate) => template.readsBody && mayConcern(template, request);
  return finders.enforce.find(request, looks) !== undefined || finders.shadow.find(request, looks) !== undefined;
}

/** Whether a rule concerns a request as far as its method, its path and the time say. */
function mayConcern(template: RuleTemplate, request: AskedRequest): boolean {
  const { methods } = template.rule.match;
  const { method, segments, ignoreCase, nowMs } = request;
  const names = namesMethod(methods, method) || (method === 'HEAD' && methods.includes('GET'));
  return names && template.concerns(segments, ignoreCase) && template.active?.(nowMs) === undefined;
}

/**
 * The rule that refuses a request because its body cannot be read: one that says so, that may concern the request, whatever stands in the body, and that no other
 * rule of its layer certainly displaces. A rule that is a shadow for the request refuses nothing.
 */
export function refusingBody(layers: readonly RuleLayer[], request: AskedRequest): Rule | undefined {
  if (request.descriptor.more?.body?.unreadable === undefined) return undefined;
  for (const layer of layers) {
    const asked = askedMethod(layer, 'enforce', request);
    const refuses = (template: RuleTemplate) => template.refusesUnreadable && couldConcern(template, request);
    const displaces = (template: RuleTemplate) => isFitting(template, 'enforce', asked, request) && !couldFail(template, request);
    const first = layer.finders.enforce.find(request, (template) => refuses(template) || displaces(template));
    if (first !== undefined && refuses(first)) return first.rule;
  }
  return undefined;
}

function couldConcern(template: RuleTemplate, request: AskedRequest): boolean {
  if (!mayConcern(template, request) || template.modeFor(request.descriptor) !== 'enforce') return false;
  return template.conditions?.couldHold(request.fields) ?? true;
}

function couldFail(template: RuleTemplate, request: AskedRequest): boolean {
  return template.conditions?.couldFail(request.fields) ?? false;
}
