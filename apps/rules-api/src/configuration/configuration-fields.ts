import { type Fields, PLAN_NAME, RULE_FIELDS } from '#limiter';
import { MAX_PLANS, MAX_RULES_PER_OWNER } from '#rules-db';
import { CHANGE_REASON_FIELDS } from '../http/change-reason.js';
import { MERCHANT_ID } from '../http/text-formats.js';
import { MERCHANT_FIELDS } from '../merchants/merchant-fields.js';
import { LABEL_FILTER } from '../pagination/label-filter.js';
import { PLAN_FIELDS } from '../plans/plan-fields.js';

/** Far more than a body of the largest size can name. */
const MAX_MERCHANTS = 1_000_000;

const RULES = {
  kind: 'list',
  of: { kind: 'object', fields: RULE_FIELDS, explanation: 'A rule.' },
  min: 0,
  max: MAX_RULES_PER_OWNER,
} as const;

/** A merchant in a file. */
export const CONFIGURED_MERCHANT_FIELDS = {
  ...MERCHANT_FIELDS,
  rules: {
    ...RULES,
    default: [],
    explanation: 'All rules of the merchant. They are told apart by their names; a rule that is not in the list is deleted.',
  },
} as const satisfies Fields;

/** A plan in a file. */
export const CONFIGURED_PLAN_FIELDS = {
  name: { kind: 'text', format: PLAN_NAME, required: true, example: 'pro', explanation: 'The name of the plan.' },
  ...PLAN_FIELDS,
  rules: {
    ...RULES,
    default: [],
    explanation: 'All rules of the plan. They are told apart by their names; a rule that is not in the list is deleted.',
  },
} as const satisfies Fields;

/** Plans, merchants and rules as a file. */
export const CONFIGURATION_FIELDS = {
  version: { kind: 'whole_number', min: 1, max: 1, required: true, example: 1, explanation: 'The version of this format.' },
  ...CHANGE_REASON_FIELDS,
  merchants: {
    kind: 'list',
    of: { kind: 'object', fields: CONFIGURED_MERCHANT_FIELDS, explanation: 'A merchant.' },
    min: 0,
    max: MAX_MERCHANTS,
    default: [],
    explanation:
      'Merchants with their rules. A merchant that is not in the list is left alone, unless deleteMerchants asks for its deletion.',
  },
  plans: {
    kind: 'list',
    of: { kind: 'object', fields: CONFIGURED_PLAN_FIELDS, explanation: 'A plan.' },
    min: 0,
    max: MAX_PLANS,
    default: [],
    explanation: 'Plans with their rules. A plan that is not in the list is left alone, unless deletePlans asks for its deletion.',
  },
  defaultRules: {
    ...RULES,
    explanation: 'All default rules. Without the field they are left alone; with an empty list they are deleted.',
  },
} as const satisfies Fields;

export const EXPORT_QUERY_FIELDS = {
  merchant: {
    kind: 'text',
    format: MERCHANT_ID,
    explanation: 'Only this merchant, without the default rules.',
  },
  format: { kind: 'choice', values: ['yaml', 'json'], default: 'yaml', explanation: 'The form of the document.' },
  select: {
    ...LABEL_FILTER,
    explanation: 'Only rules with this label, written as NAME=VALUE, with the merchants that have them, and merchants with it.',
  },
} as const satisfies Fields;

const SHARE_EXPECTED = 'must be a whole number from 0 to 100';

/** Query parameters are text. */
export const APPLY_QUERY_FIELDS = {
  dryRun: {
    kind: 'choice',
    values: ['true', 'false'],
    default: 'false',
    explanation: 'With true the answer says what would change, and nothing is changed.',
  },
  maxDeletePercent: {
    kind: 'text',
    format: {
      expected: SHARE_EXPECTED,
      fault: (text) => (/^\d{1,3}$/.test(text) && Number(text) <= 100 ? undefined : SHARE_EXPECTED),
      schema: {},
    },
    default: '10',
    explanation: 'At most this share of the rules that the document manages is deleted; otherwise the document is refused.',
  },
  deleteMerchants: {
    kind: 'choice',
    values: ['true', 'false'],
    default: 'false',
    explanation: 'With true every merchant that the document lacks is deleted with its rules. maxDeletePercent holds for merchants, too.',
  },
  deletePlans: {
    kind: 'choice',
    values: ['true', 'false'],
    default: 'false',
    explanation:
      'With true every plan that the document lacks is deleted with its rules; one that merchants still have is not, and the document is refused. ' +
      'maxDeletePercent holds for plans, too.',
  },
  select: {
    ...LABEL_FILTER,
    explanation:
      'The document manages only what has this label, written as NAME=VALUE: everything else is neither changed nor deleted. Every rule of the document must ' +
      'have it. A merchant of the document without it is not managed itself. Not together with deleteMerchants or deletePlans.',
  },
  strict: {
    kind: 'choice',
    values: ['true', 'false'],
    default: 'false',
    explanation:
      'With true a document with a warning about a rule that it creates or changes is refused, and the answer names the warnings as errors.',
  },
} as const satisfies Fields;
