import type { Fields } from '#limiter';
import { REQUEST_ID } from '../decisions/decision-fields.js';
import { HTTP_METHOD, IP_ADDRESS, MERCHANT_ID } from '../http/text-formats.js';

const PATH_EXPECTED = 'must be a path as a client sends it, like /transactions/17';
const MAX_PATH_LENGTH = 8_192;

/** A request as it is described for an explanation: the facts that rules look at. */
export const EXPLAIN_FIELDS = {
  requestId: {
    kind: 'text',
    format: REQUEST_ID,
    example: 'k3J9xZ-1f',
    explanation:
      'Instead of a merchant and a request: the id of a request that a gateway has decided about, and of which there is a receipt.',
  },
  ip: {
    kind: 'text',
    format: IP_ADDRESS,
    example: '192.0.2.7',
    explanation: 'Beside requestId: the address of the client, which no receipt holds. Rules whose key has ip need it.',
  },
  merchantId: {
    kind: 'text',
    format: MERCHANT_ID,
    required: { unless: 'requestId' },
    example: 'acme',
    explanation: 'The merchant that makes the request.',
  },
  request: {
    kind: 'object',
    required: { unless: 'requestId' },
    explanation: 'The request, as far as rules look at it.',
    fields: {
      method: {
        kind: 'text',
        format: HTTP_METHOD,
        required: true,
        example: 'POST',
        explanation: 'The method.',
      },
      path: {
        kind: 'text',
        format: {
          expected: PATH_EXPECTED,
          fault: (text: string) => (/^\/[\x21-\x7e]*$/.test(text) && text.length <= MAX_PATH_LENGTH ? undefined : PATH_EXPECTED),
          schema: { maxLength: MAX_PATH_LENGTH, pattern: '^/[!-~]*$' },
        },
        required: true,
        example: '/transactions/17',
        explanation: 'The path, percent-encoded as a client sends it; a query is ignored.',
      },
      ip: {
        kind: 'text',
        format: IP_ADDRESS,
        example: '192.0.2.7',
        explanation: 'The address of the client. Rules whose key has ip need it.',
      },
    },
  },
} as const satisfies Fields;
