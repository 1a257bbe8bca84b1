import { PENALTY_FIELDS } from '../algorithms/penalty/fields.js';
import { ON_UNREADABLE_BODY } from '../body/unreadable-body-policy.js';
import { CHARGE } from './charge.js';
import { CONDITIONS, FIELD_NAME } from '../conditions/condition-fields.js';
import { COST } from './cost.js';
import { CONSISTENCY } from './consistency.js';
import type { Fields, SpecOf } from '../fields/field.js';
import { LABELS, NOTE } from '../fields/label.js';
import type { Limit } from '../limits/limit.js';
import { LIMIT } from '../limits/limit-fields.js';
import { ON_LIMIT } from './on-limit.js';
import { RESERVE } from './reserve.js';
import { MODE } from './rule-mode.js';
import { SCHEDULE, VALID_FROM, VALID_TO } from '../schedule/schedule-fields.js';
import { HTTP_METHOD, line, PATH_PATTERN } from '../fields/text-formats.js';

export type { Penalty } from '../algorithms/penalty/fields.js';

/** Rules compete by priority inside a layer; layers add up. */
export const LAYERS = ['platform', 'network', 'merchant', 'user'] as const;
export type Layer = (typeof LAYERS)[number];

/** What a rule wants when the store cannot answer: let pass, refuse with 503, a bucket in this process, or only what this process has been lent. */
export const STORE_FAILURE_POLICIES = ['open', 'closed', 'local', 'leased'] as const;
export type StoreFailurePolicy = (typeof STORE_FAILURE_POLICIES)[number];

/** The fields of a request that tell buckets of one rule apart, by their names: see conditions/request-field.ts. */
export type KeyPart = string;
const MOST_KEY_PARTS = 8;

const MATCH_FIELDS = {
  methods: {
    kind: 'list',
    of: { kind: 'text', format: HTTP_METHOD, explanation: 'An HTTP method in capitals.' },
    min: 0,
    max: 16,
    default: [],
    example: ['POST'],
    explanation: 'HTTP methods in capitals. An empty list means any method but OPTIONS.',
  },
  paths: {
    kind: 'list',
    of: { kind: 'text', format: PATH_PATTERN, explanation: 'A path pattern.' },
    min: 0,
    max: 32,
    default: [],
    example: ['/transactions/**'],
    explanation: 'Path patterns: * stands for anything within a segment, ** for any number of segments. An empty list means any path.',
  },
  all: CONDITIONS,
} as const satisfies Fields;

/** The language of a rule: everything that an administrator may write. */
export const RULE_FIELDS = {
  name: {
    kind: 'text',
    format: line(100),
    required: true,
    example: 'card payments',
    explanation: 'Names the rule. It is different from the names of the other rules of the merchant, or of the other default rules.',
  },
  note: NOTE,
  labels: LABELS,
  layer: {
    kind: 'choice',
    values: LAYERS,
    default: 'merchant',
    explanation: 'Rules compete by priority inside a layer; layers add up.',
  },
  priority: {
    kind: 'whole_number',
    min: 0,
    max: 1_000_000,
    default: 100,
    explanation: 'The matching rule with the highest priority is chosen in each layer.',
  },
  enabled: { kind: 'truth', default: true, explanation: 'A rule that is not enabled is not looked at.' },
  mode: MODE,
  validFrom: VALID_FROM,
  validTo: VALID_TO,
  schedule: SCHEDULE,
  match: {
    kind: 'object',
    fields: MATCH_FIELDS,
    default: { methods: [], paths: [] },
    explanation: 'The requests to which the rule applies.',
  },
  key: {
    kind: 'list',
    of: FIELD_NAME,
    min: 0,
    max: MOST_KEY_PARTS,
    default: ['merchant'],
    explanation:
      'The fields of a request that tell buckets apart, in any order. An empty list means one bucket for all requests; a field that a request does not have is a value of its own.',
  },
  limits: {
    kind: 'list',
    of: LIMIT,
    min: 1,
    max: 8,
    required: true,
    explanation: 'All limits must pass, or nothing is taken. Headers and problems name them in this order.',
  },
  cost: COST,
  charge: CHARGE,
  onUnreadableBody: ON_UNREADABLE_BODY,
  onStoreFailure: {
    kind: 'choice',
    values: STORE_FAILURE_POLICIES,
    default: 'local',
    explanation:
      'What happens while the store of the buckets does not answer: open lets requests pass, closed refuses them with 503, ' +
      'local uses a bucket in each gateway, leased lets pass what a gateway has been lent and refuses the rest with 503.',
  },
  penalty: {
    kind: 'object',
    fields: PENALTY_FIELDS,
    nullable: true,
    default: null,
    absentMeans: null,
    explanation: 'After so many refusals in a window, everything behind a bucket key is refused for a time. With null there is no penalty.',
  },
  onLimit: ON_LIMIT,
  reserve: RESERVE,
  consistency: CONSISTENCY,
} as const satisfies Fields;

/** When a rule applies. An empty list matches everything. See path-pattern.ts. */
export type RuleMatch = SpecOf<typeof MATCH_FIELDS>;

/** What an administrator writes, with every default filled in. */
export type RuleSpec = SpecOf<typeof RULE_FIELDS>;

/**
 * A rule as it is enforced: notes and labels are for people, so snapshots do not carry them. Ids are decimal strings in the order of creation, so the
 * older of two has the smaller number.
 */
export interface Rule extends Omit<RuleSpec, 'limits' | 'note' | 'labels'> {
  readonly id: string;
  readonly limits: readonly Limit[];
}
