import type { AskedRequest } from './asked-request.js';
import { type FieldScalar, type FieldValue, isSeveral } from '../conditions/field-value.js';
import type { Descriptor } from './descriptor.js';
import { type EffectiveMode, modeOf } from './enforced-share.js';
import type { MerchantRules, NowMs } from './merchant-rules.js';
import type { OverridePeriod } from '../rules/override.js';
import { askedMethod, mismatchOf, type Mismatch, type RuleLayer } from './rule-matcher.js';
import { type RuleSource, SOURCES } from '../rules/rule-origin.js';
import type { RuleTemplate } from './rule-template.js';
import { LAYERS, type Layer, type Rule } from '../rules/rule.js';

/** Why a rule is not the one that a request has to obey: the first condition that failed, with what it wants and what there was. */
export interface WhyNot {
  readonly code: (typeof WHY_NOT)[number];
  /** A field of the rule; of a condition that failed, the field of the request. */
  readonly field: string;
  readonly expected: unknown;
  readonly got: unknown;
}

export const WHY_NOT = [
  'disabled',
  'method_differs',
  'path_differs',
  'not_valid_yet',
  'no_longer_valid',
  'outside_schedule',
  'condition_failed',
  'displaced',
] as const;

export interface ConsideredRule {
  readonly rule: Rule;
  readonly source: RuleSource;
  /** What the rule does with this request. */
  readonly mode: EffectiveMode;
  /** Whether its conditions hold, be it chosen or displaced by another one. */
  readonly matched: boolean;
  readonly chosen: boolean;
  /** Null for a chosen rule. */
  readonly why: WhyNot | null;
  /** The override that is in force for the merchant. */
  readonly override?: OverridePeriod | undefined;
}

export interface ExplainedLayer {
  readonly layer: Layer;
  /** In the order in which they are asked: those that are enforced, then shadow rules, then disabled ones. */
  readonly considered: readonly ConsideredRule[];
}

/** Rules that are switched off, and whose they are. */
export interface DisabledRule {
  readonly rule: Rule;
  readonly source: RuleSource;
}

/**
 * Tells of every rule of a merchant why a request has to obey it, or does not. It asks the same conditions in the same order as `choose`, which
 * stops at the first rule that matches.
 *
 * @param nowMs the time at which the request comes
 */
export function explainChoice(
  rules: MerchantRules,
  descriptor: Descriptor,
  disabled: readonly DisabledRule[] = [],
  nowMs?: NowMs,
): ExplainedLayer[] {
  const request = rules.asked(descriptor, nowMs);
  return LAYERS.flatMap((layer) => {
    const found = rules.layers.find((each) => each.layer === layer);
    const considered = [
      ...(found ? explainedLayer(found, request) : []),
      ...disabled.filter(({ rule }) => rule.layer === layer).map((each) => explainedDisabled(each, descriptor)),
    ];
    return considered.length === 0 ? [] : [{ layer, considered }];
  });
}

function explainedLayer(layer: RuleLayer, request: AskedRequest): ConsideredRule[] {
  const modes = [
    ['enforce', layer.enforced],
    ['shadow', layer.shadow],
  ] as const;
  return modes.flatMap(([mode, asked]) => {
    const method = askedMethod(layer, mode, request);
    let chosen: RuleTemplate | undefined;
    return asked
      .filter((template) => template.modeFor(request.descriptor) === mode)
      .map((template): ConsideredRule => {
        const { rule, override } = template;
        const about = { rule, source: SOURCES[template.source], mode, override };
        const mismatch = mismatchOf(template, method, request);
        if (mismatch !== undefined) return { ...about, matched: false, chosen: false, why: whyNot(template, mismatch, method, request) };
        if (chosen !== undefined) return { ...about, matched: true, chosen: false, why: displaced(rule, chosen.rule) };
        chosen = template;
        return { ...about, matched: true, chosen: true, why: null };
      });
  });
}

function whyNot({ rule, conditions }: RuleTemplate, mismatch: Mismatch, method: string, request: AskedRequest): WhyNot {
  const { match, validFrom, validTo, schedule } = rule;
  const now = () => new Date(request.nowMs).toISOString();
  switch (mismatch) {
    case 'method':
      return { code: 'method_differs', field: 'match.methods', expected: match.methods, got: method };
    case 'path':
      return { code: 'path_differs', field: 'match.paths', expected: match.paths, got: bounded(request.descriptor.target) };
    case 'not_valid_yet':
      return { code: mismatch, field: 'validFrom', expected: validFrom, got: now() };
    case 'no_longer_valid':
      return { code: mismatch, field: 'validTo', expected: validTo, got: now() };
    case 'outside_schedule':
      return { code: mismatch, field: 'schedule', expected: schedule, got: now() };
    case 'conditions': {
      const { field, expected, got } = conditions!.reason(request.fields);
      return { code: 'condition_failed', field, expected, got: shownValue(got) };
    }
  }
}

/** What a client sent may be personal, and long. */
function shownValue(value: FieldValue): unknown {
  if (value === undefined) return null;
  return isSeveral(value) ? value.slice(0, MOST_SHOWN_VALUES).map(shownScalar) : shownScalar(value);
}

/** A number as it is written in decimals, because JSON would round it. */
function shownScalar(value: FieldScalar): unknown {
  if (typeof value === 'string') return bounded(value);
  switch (value.kind) {
    case 'truth':
      return value.text === 'true';
    case 'number':
      return String(Number(value.text)) === value.text ? Number(value.text) : bounded(value.text);
    case 'object':
      return {};
  }
}

const MOST_SHOWN_VALUES = 5;
const MOST_SHOWN_CHARACTERS = 200;

function bounded(text: string): string {
  return text.length > MOST_SHOWN_CHARACTERS ? `${text.slice(0, MOST_SHOWN_CHARACTERS)}…` : text;
}

/** On a tie the merchant's own rule is asked before its plan's, its plan's before a default one, then the older one. */
function displaced({ priority }: Rule, by: Rule): WhyNot {
  const expected = `more than ${by.priority}, the priority of rule ${by.id}`;
  return { code: 'displaced', field: 'priority', expected, got: priority };
}

function explainedDisabled({ rule, source }: DisabledRule, descriptor: Descriptor): ConsideredRule {
  const why = { code: 'disabled', field: 'enabled', expected: true, got: false } as const;
  return { rule, source, mode: modeOf(rule, descriptor), matched: false, chosen: false, why };
}
