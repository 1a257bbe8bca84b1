import type { MapField, TextField, TextFormat } from './field.js';
import { line, textFormat } from './text-formats.js';

/** Short texts by which administrators find and select merchants and rules. */
export type Labels = Readonly<Record<string, string>>;

const KEY_PATTERN = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export const LABEL_KEY = textFormat("must be 1 to 63 small letters, digits or '-', like a DNS label", (text) => KEY_PATTERN.test(text), {
  pattern: KEY_PATTERN.source,
});

export const LABEL_VALUE = line(63);

const MAX_LABELS = 16;

/** Whether labels that were stored are some. */
export function isLabels(value: unknown): value is Labels {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const labels = Object.entries(value);
  return labels.length <= MAX_LABELS && labels.every(([key, each]) => isText(key, LABEL_KEY) && isText(each, LABEL_VALUE));
}

function isText(value: unknown, format: TextFormat): boolean {
  return typeof value === 'string' && format.fault(value) === undefined;
}

/** The field of a rule or of a merchant. */
export const LABELS = {
  kind: 'map',
  keys: LABEL_KEY,
  values: LABEL_VALUE,
  max: MAX_LABELS,
  default: {},
  absentMeans: {},
  example: { team: 'risk' },
  explanation: 'Names and short values by which it is found and selected. Names are like DNS labels.',
} as const satisfies MapField;

const MAX_NOTE_LENGTH = 500;

export const NOTE = {
  kind: 'text',
  format: textFormat(
    `must be a text of at most ${MAX_NOTE_LENGTH} characters, without control characters other than line breaks`,
    (text) => text.length <= MAX_NOTE_LENGTH && text.isWellFormed() && !/[^\n\P{Cc}]/u.test(text),
    { maxLength: MAX_NOTE_LENGTH, pattern: '^[^\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f]*$' },
  ),
  default: '',
  absentMeans: '',
  example: 'fraud wave of March, ticket RISK-81',
  explanation: 'Why the rule is there, for people.',
} as const satisfies TextField;
