import { FEWEST_INDEXED, type MerchantSnapshot, type PlanSnapshot, type Rule } from '#limiter';

/**
 * What a merchant takes in memory, estimated from the number of its rules and limits: to measure it would cost more than it takes.
 * Compared with the real heap in test/e2e/gateway/rule-memory.spec.ts, which says how good the estimate is.
 */

/** Bytes, on 64 bits. */
const ENTRY = 220;
/** Of a merchant that has rules at all, be they the default ones. */
const RULES = 550;
/** Of its own, and what is compiled from them. */
const RULE = 1350;
const LIMIT = 450;
const PAST_LIMIT = 450;
const PATH = 100;
/** Of a segment before the first star of a path, in the tree by which many rules are found. */
const INDEXED_SEGMENT = 210;
/** An override, also one that has ended. */
const OVERRIDE = 500;
const CHARACTER = 2;
/** For each character of its JSON: conditions become closures and tables of searches. */
const WRITTEN = 20;
/** Of a merchant that has sent a request: what is remembered of it. */
const USED = 700;
/** With its packed bytes. */
const TAKE = 580;

/** Of an id that belongs to no merchant and gets no rules. */
export function bytesOfUnknown(merchantId: string): number {
  return ENTRY + CHARACTER * merchantId.length;
}

/** @param takesMade how many takes were made ready for it so far */
export function bytesOfMerchant(merchantId: string, snapshot: MerchantSnapshot | null, takesMade: number): number {
  return (
    bytesOfUnknown(merchantId) +
    RULES +
    bytesOfRules(snapshot?.rules ?? []) +
    (snapshot?.overrides ?? []).reduce((sum, { periods }) => sum + RULE + periods.length * OVERRIDE, 0) +
    (takesMade > 0 ? USED : 0) +
    takesMade * TAKE
  );
}

/** Of the rules that all merchants of a plan share, and what is compiled from them. */
export function bytesOfPlan({ plan, rules }: PlanSnapshot): number {
  return ENTRY + CHARACTER * plan.length + bytesOfRules(rules);
}

function bytesOfRules(rules: readonly Rule[]): number {
  const bytes = rules.reduce((sum, rule) => sum + bytesOfRule(rule), 0);
  return rules.length < FEWEST_INDEXED ? bytes : bytes + INDEXED_SEGMENT * rules.reduce((sum, rule) => sum + plainSegments(rule), 0);
}

const plainSegments = ({ match: { paths } }: Rule): number =>
  paths.reduce((sum, path) => sum + path.split('*', 1)[0]!.split('/').length - 1, 0);

function bytesOfRule({ name, match: { paths, all }, limits, schedule }: Rule): number {
  const text = paths.reduce((sum, path) => sum + path.length + PATH, name.length);
  const written = (all ? JSON.stringify(all).length : 0) + (schedule ? JSON.stringify(schedule).length : 0);
  return RULE + CHARACTER * text + WRITTEN * written + limits.reduce((sum, { previous }) => sum + LIMIT + previous.length * PAST_LIMIT, 0);
}
