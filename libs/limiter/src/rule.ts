import type { Limit, LimitSpec } from './limit.js';

/** Rules compete by priority inside a layer; layers add up. */
export const LAYERS = ['platform', 'network', 'merchant', 'user'] as const;
export type Layer = (typeof LAYERS)[number];

/** `shadow` rules are evaluated and counted, but refuse nothing. */
export const MODES = ['enforce', 'shadow'] as const;
export type Mode = (typeof MODES)[number];

/** What a rule wants when the store cannot answer: let pass, refuse with 503, or a bucket in this process. */
export const STORE_FAILURE_POLICIES = ['open', 'closed', 'local'] as const;
export type StoreFailurePolicy = (typeof STORE_FAILURE_POLICIES)[number];

/** The parts of a descriptor that can tell buckets of one rule apart. */
export const KEY_PARTS = ['merchant', 'ip', 'method'] as const;
export type KeyPart = (typeof KEY_PARTS)[number];

/** When a rule applies. An empty list matches everything. */
export interface RuleMatch {
  /** HTTP methods in capitals. */
  readonly methods: readonly string[];
  /** Path patterns: `*` within one segment, `**` any number of segments. See path-pattern.ts. */
  readonly paths: readonly string[];
}

/** After so many refusals in a window, whoever is behind a bucket key is refused everything for a time. */
export interface Penalty {
  readonly refusals: number;
  /** Begins with the first refusal. */
  readonly windowMs: number;
  readonly blockMs: number;
}

/** What an administrator writes, with every default filled in. */
export interface RuleSpec {
  readonly name: string;
  readonly layer: Layer;
  /** The highest wins within its layer. */
  readonly priority: number;
  readonly enabled: boolean;
  readonly mode: Mode;
  readonly match: RuleMatch;
  readonly key: readonly KeyPart[];
  readonly limits: readonly LimitSpec[];
  /** Tokens that one request asks of each limit. */
  readonly cost: number;
  readonly onStoreFailure: StoreFailurePolicy;
  /** None unless given. */
  readonly penalty?: Penalty | null;
}

/** A stored rule. Ids are decimal strings in the order of creation, so the older of two has the smaller number. */
export interface Rule extends Omit<RuleSpec, 'limits'> {
  readonly id: string;
  readonly limits: readonly Limit[];
}

export const RULE_BOUNDS = {
  name: { maxLength: 100 },
  priority: { min: 0, max: 1_000_000 },
  cost: { min: 1, max: 1_000_000_000 },
  limits: { min: 1, max: 8 },
  methods: { max: 16 },
  paths: { max: 32 },
  /** A block is for a client that has gone wrong, not a way to lock out a merchant: a day at most. */
  penalty: { refusals: { min: 1, max: 1_000_000 }, windowMs: { min: 1_000, max: 86_400_000 }, blockMs: { min: 1_000, max: 86_400_000 } },
} as const;
