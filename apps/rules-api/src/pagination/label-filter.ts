import { LABEL_KEY, LABEL_VALUE, type TextField } from '#limiter';

const EXPECTED = 'must be a label as NAME=VALUE like region=eu';

/** The query parameter that selects by a label. Its first `=` ends the name. */
export const LABEL_FILTER = {
  kind: 'text',
  format: {
    expected: EXPECTED,
    fault: (text) => {
      const { key, value } = labelIn(text);
      return text.includes('=') && LABEL_KEY.fault(key) === undefined && LABEL_VALUE.fault(value) === undefined ? undefined : EXPECTED;
    },
    schema: { minLength: 3, maxLength: 127 },
  },
  example: 'region=eu',
  explanation: 'Only what has this label, written as NAME=VALUE.',
} as const satisfies TextField;

export function labelIn(text: string): { readonly key: string; readonly value: string } {
  const [key = '', ...rest] = text.split('=');
  return { key, value: rest.join('=') };
}
