import { type Fields, LABELS, type TextFormat } from '#limiter';
import { WEBHOOK_EVENTS } from '#rules-db';

const MAX_URL_LENGTH = 2_048;
const URL_EXPECTED = `must be a URL like https://example.com/tollgate, of at most ${MAX_URL_LENGTH} characters, without user, password and fragment`;

const WEBHOOK_URL: TextFormat = {
  expected: URL_EXPECTED,
  fault: (text) => {
    if (text.length > MAX_URL_LENGTH || !/^https?:\/\/[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) return URL_EXPECTED;
    const { username, password } = new URL(text);
    return username === '' && password === '' && !text.includes('#') ? undefined : URL_EXPECTED;
  },
  schema: { maxLength: MAX_URL_LENGTH, pattern: '^https?://[\\x21-\\x7e]+$' },
};

/** What is written of a webhook. */
export const WEBHOOK_FIELDS = {
  url: {
    kind: 'text',
    format: WEBHOOK_URL,
    required: true,
    example: 'https://example.com/tollgate',
    explanation: 'Where events are sent, by POST. Only https and public addresses, unless WEBHOOK_ALLOW_PRIVATE allows others.',
  },
  events: {
    kind: 'list',
    of: { kind: 'choice', values: WEBHOOK_EVENTS, explanation: 'The type of an event.' },
    min: 1,
    max: WEBHOOK_EVENTS.length,
    required: true,
    example: ['rule.changed'],
    explanation:
      'Of what the receiver is told. rule.changed: rules of a merchant, or default rules, were made, changed or deleted. approval.wanted: a change waits for a second administrator. override.ended: an override has ended, by itself or by hand. limit.80 and limit.100: four fifths of a limit of a merchant are used, or it has refused a request. key.refused: a limit has refused one key, like one account or address, a hundred times within a minute.',
  },
  enabled: {
    kind: 'truth',
    default: true,
    explanation: 'Whether it is told. What happens meanwhile it never learns; what already waits for it waits on.',
  },
  labels: LABELS,
} as const satisfies Fields;

export const ROTATE_SECRET_FIELDS = {
  overlapSeconds: {
    kind: 'whole_number',
    min: 0,
    max: 604_800,
    default: 86_400,
    explanation: 'For how many seconds the former secret signs beside the new one.',
  },
} as const satisfies Fields;
