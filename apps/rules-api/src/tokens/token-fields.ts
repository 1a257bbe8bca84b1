import { type Fault, type Fields, line } from '#limiter';
import { ROLES } from '#rules-db';
import { SUBJECT_PREFIX } from '../auth/oidc-claims.js';
import { MERCHANT_ID, MOMENT } from '../http/text-formats.js';
import { LABEL_FILTER } from '../pagination/label-filter.js';

const NAME = line(100);

/** The name of whoever has TOLLGATE_ADMIN_TOKEN: in the audit it must mean nobody else. */
const RESERVED_NAME = 'admin';
const NOT_RESERVED = `must be another name than ${RESERVED_NAME}, which is TOLLGATE_ADMIN_TOKEN in the audit, and not begin with ${SUBJECT_PREFIX}, which are subjects of the OIDC issuer`;
const isReserved = (name: string): boolean => name === RESERVED_NAME || name.startsWith(SUBJECT_PREFIX);

/** What is written to create a token. */
export const TOKEN_FIELDS = {
  name: {
    kind: 'text',
    format: { ...NAME, fault: (text) => (isReserved(text) ? NOT_RESERVED : NAME.fault(text)) },
    required: true,
    example: 'deploy pipeline',
    explanation: 'The name of the token. It stands in the audit as the one who made a change.',
  },
  role: {
    kind: 'choice',
    values: ROLES,
    required: true,
    example: 'editor',
    explanation:
      'A viewer reads, an editor writes merchants and rules, an approver approves changes, and an admin does everything. Each role may do what those before it may.',
  },
  merchants: {
    kind: 'list',
    of: {
      kind: 'text',
      format: MERCHANT_ID,
      explanation: 'The id of a merchant.',
    },
    min: 1,
    max: 100,
    example: ['acme'],
    explanation: 'The merchants to which the token is limited. Without this field and `label` it is good for all.',
  },
  // Without an example of its own: beside that of `merchants` it would be refused.
  label: {
    kind: 'text',
    format: LABEL_FILTER.format,
    explanation:
      'The label of the merchants to which the token is limited, as NAME=VALUE: those that have it when a request is made. Instead of `merchants`.',
  },
  expiresAt: {
    kind: 'text',
    format: MOMENT,
    example: '2100-01-01T00:00:00Z',
    explanation: 'When the token stops being good by itself. Without this field it never does.',
  },
} as const satisfies Fields;

/** Both could mean merchants of the list that have the label, or all of either: the narrower one is not what everybody expects. */
export function tokenFaults({ merchants, label }: { readonly merchants?: unknown; readonly label?: unknown }): Fault[] {
  if (merchants === undefined || label === undefined) return [];
  return [
    {
      pointer: '/label',
      code: 'token.label.not_applicable',
      detail: 'must be left out beside merchants: a token is limited by one of them',
    },
  ];
}

/** What is written to rotate one. */
export const ROTATION_FIELDS = {
  overlapSeconds: {
    kind: 'whole_number',
    min: 0,
    max: 604_800,
    default: 3_600,
    explanation: 'For how many seconds the former token is good beside the new one.',
  },
} as const satisfies Fields;
