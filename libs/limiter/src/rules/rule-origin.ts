/** Whose rule it is: the merchant's own, its plan's, or one for all. On a tie of priorities they are asked in this order. */
export const RULE_ORIGINS = ['own', 'plan', 'default'] as const;
export type RuleOrigin = (typeof RULE_ORIGINS)[number];

/** The same in the words of the Rules API. */
export type RuleSource = 'merchant' | 'plan' | 'default';

export const SOURCES: Readonly<Record<RuleOrigin, RuleSource>> = { own: 'merchant', plan: 'plan', default: 'default' };
