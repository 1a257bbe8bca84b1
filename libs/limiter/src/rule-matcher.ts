import type { AskedRequest } from './asked-request.js';
import type { EffectiveMode } from './enforced-share.js';
import { LAYERS, type Layer, type Rule } from './rule.js';
import { namesMethod } from './rule-method.js';
import { RULE_ORIGINS } from './rule-origin.js';
import type { RuleTemplate } from './rule-template.js';
import type { InactiveReason } from './schedule/active-times.js';

/** The rules of a layer in the order in which they are asked: the first that matches is chosen. A rule that is enforced for some requests only stands in both. */
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
  return [...new Set([...enforced, ...shadow])];
}

function layerOf(layer: Layer, rules: readonly RuleTemplate[]): RuleLayer {
  const inMode = (mode: EffectiveMode) => rules.filter((template) => template.mayBe(mode)).sort(inOrder);
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

/**
 * The method by which rules are matched. HEAD asks for what GET would get, so it follows the rules for GET, unless one of these rules that concerns the
 * request otherwise names HEAD.
 */
export function askedMethod(rules: readonly RuleTemplate[], mode: EffectiveMode, request: AskedRequest): string {
  const { method } = request;
  const namesHead = (template: RuleTemplate) => template.rule.match.methods.includes('HEAD') && isFitting(template, mode, method, request);
  return method === 'HEAD' && !rules.some(namesHead) ? 'GET' : method;
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
export function firstMatch(rules: readonly RuleTemplate[], mode: EffectiveMode, request: AskedRequest): RuleTemplate | undefined {
  const asked = askedMethod(rules, mode, request);
  for (const template of rules) if (isFitting(template, mode, asked, request)) return template;
  return undefined;
}

function isFitting(template: RuleTemplate, mode: EffectiveMode, asked: string, request: AskedRequest): boolean {
  return mismatchOf(template, asked, request) === undefined && template.modeFor(request.descriptor) === mode;
}

/** Whether a rule concerns a request as far as its method, its path and the time say. */
export function mayConcern(template: RuleTemplate, request: AskedRequest): boolean {
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
  for (const { enforced } of layers) {
    const asked = askedMethod(enforced, 'enforce', request);
    for (const template of enforced) {
      if (template.refusesUnreadable && couldConcern(template, request)) return template.rule;
      if (isFitting(template, 'enforce', asked, request) && !couldFail(template, request)) break;
    }
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
