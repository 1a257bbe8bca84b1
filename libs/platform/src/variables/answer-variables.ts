import { templateFile, type BodyTemplate } from '../body-template.js';
import { expected, oneOf, type Variable } from './variable.js';

export const RATE_LIMIT_HEADER_STYLES = ['draft', 'legacy', 'both', 'none'] as const;
export type RateLimitHeaderStyle = (typeof RATE_LIMIT_HEADER_STYLES)[number];

export const RATE_LIMIT_RESETS = ['seconds', 'epoch'] as const;
export type RateLimitReset = (typeof RATE_LIMIT_RESETS)[number];

/** Whether browsers get a page: none, our own, or the operator's. */
export type RefusalHtml = 'none' | 'built-in' | BodyTemplate;

/** The web origins whose pages may read what the gateway answers by itself: all, or these. */
export type CorsOrigins = '*' | readonly string[];

const MOST_ORIGINS = 64;

/** @throws ExpectationError */
function corsOrigins(text: string): CorsOrigins {
  if (text === '*') return '*';
  const origins = text === '' ? [] : text.split(',').map((each) => each.trim());
  return origins.length <= MOST_ORIGINS && origins.every(isOrigin)
    ? [...new Set(origins)]
    : expected(`* or up to ${MOST_ORIGINS} origins, separated by commas, as browsers send them: https://shop.example`);
}

/** As a browser writes it in Origin: in small letters, without the port that the scheme has by itself, and without a path. */
function isOrigin(text: string): boolean {
  if (text.length > 300 || !URL.canParse(text)) return false;
  const { origin, protocol } = new URL(text);
  // Of other schemes, which apps have, URL knows no origin.
  return /^https?:$/.test(protocol) ? origin === text && !text.includes('*') : /^[a-z][a-z0-9+.-]*:\/\/[a-z0-9._:-]+$/.test(text);
}

/** How the gateway writes what it answers by itself, in the order in which help texts print them. */
export const ANSWER_VARIABLES = {
  rateLimitHeaders: {
    name: 'RATE_LIMIT_HEADERS',
    apps: ['gateway', 'decision-api'],
    default: 'draft',
    meaning: 'headers that tell of limits: draft (RateLimit and RateLimit-Policy), legacy (X-RateLimit-*), both, or none',
    parse: oneOf(RATE_LIMIT_HEADER_STYLES),
  },
  rateLimitReset: {
    name: 'RATE_LIMIT_RESET',
    apps: ['gateway', 'decision-api'],
    default: 'seconds',
    meaning: 'what X-RateLimit-Reset says: seconds that are left, or epoch, seconds since 1970',
    parse: oneOf(RATE_LIMIT_RESETS),
  },
  refusalBody: {
    name: 'REFUSAL_BODY_FILE',
    apps: ['gateway'],
    default: '',
    meaning: 'template of the body of what the gateway answers by itself, a .json, .xml or .txt file; unset: problem details',
    parse: (text: string): BodyTemplate | undefined => (text === '' ? undefined : templateFile(text, ['json', 'xml', 'txt'])),
  },
  refusalHtml: {
    name: 'REFUSAL_HTML',
    apps: ['gateway'],
    default: 'none',
    meaning: 'page for clients that prefer text/html, as browsers do: none, built-in, or a template in a .html file',
    parse: (text: string): RefusalHtml => (text === 'none' || text === 'built-in' ? text : templateFile(text, ['html'])),
  },
  refusalCorsOrigins: {
    name: 'REFUSAL_CORS_ORIGINS',
    apps: ['gateway'],
    default: '',
    meaning:
      'origins like https://shop.example whose web pages may read what the gateway answers by itself, separated by commas, or * for all; unset: none',
    parse: corsOrigins,
  },
} as const satisfies Record<string, Variable<unknown>>;
