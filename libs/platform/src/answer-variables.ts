import { templateFile, type BodyTemplate } from './body-template.js';
import { oneOf, type Variable } from './variable.js';

export const RATE_LIMIT_HEADER_STYLES = ['draft', 'legacy', 'both', 'none'] as const;
export type RateLimitHeaderStyle = (typeof RATE_LIMIT_HEADER_STYLES)[number];

export const RATE_LIMIT_RESETS = ['seconds', 'epoch'] as const;
export type RateLimitReset = (typeof RATE_LIMIT_RESETS)[number];

/** Whether browsers get a page: none, our own, or the operator's. */
export type RefusalHtml = 'none' | 'built-in' | BodyTemplate;

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
} as const satisfies Record<string, Variable<unknown>>;
