import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { type Faults, wholeNumber } from '../shared/options.js';

/** Options that several commands have. */
export const asJson = () => new Option('--json', 'print JSON instead of a table');
export const reason = () => new Option('--reason <text>', 'why the change is made; the history keeps it');
export const strict = () => new Option('--strict', 'refuse rules that are probably mistakes, instead of warning of them').default(false);
export const merchant = () => new Option('--merchant <id>', 'the merchant');
export const plan = () => new Option('--plan <name>', 'the plan').conflicts('merchant');

export const ABOUT_CONNECTION = `The Rules API is the one of npx tollgate login, or of the variables
  TOLLGATE_URL    its address
  TOLLGATE_TOKEN  a token`;

/** An option that may be given more than once: headers of a request, as NAME: VALUE. */
export function headerOption(faults: Faults) {
  const option = new Option('--header <name:value>', 'a header of the request; may be given more than once');
  return option.argParser((text: string, before: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>> => {
    const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*)$/.exec(text) ?? [];
    if (name === undefined || value === undefined) faults.add(`--header must be like "x-channel: web"; got ${text || 'nothing'}.`);
    return name === undefined || value === undefined ? (before ?? {}) : { ...before, [name.toLowerCase()]: value };
  });
}

/** A claim of the token with which a request comes. */
export function claimOption(faults: Faults) {
  const option = new Option('--claim <name=value>', 'a claim of its token, as rules name it behind jwt.; may be given more than once');
  return option.argParser(pairs('--claim', 'scope=payments', faults));
}

/** A label of the API key with which a request comes. */
export function keyLabelOption(faults: Faults) {
  const option = new Option('--api-key-label <name=value>', 'a label of its API key; may be given more than once');
  return option.argParser(pairs('--api-key-label', 'team=web', faults));
}

type Pairs = Readonly<Record<string, string>>;

function pairs(name: string, example: string, faults: Faults) {
  return (text: string, before: Pairs | undefined): Pairs => {
    const at = text.indexOf('=');
    if (at < 1) faults.add(`${name} must be like ${example}; got ${text || 'nothing'}.`);
    // From entries: a name may be __proto__.
    return at < 1 ? (before ?? {}) : Object.fromEntries([...Object.entries(before ?? {}), [text.slice(0, at), text.slice(at + 1)]]);
  };
}

/** A label, as apply and export select by it. */
export function select(faults: Faults) {
  return new Option('--select <label=value>', 'only what has this label').argParser((text: string): string => {
    if (!/^[^=]+=./.test(text)) faults.add(`--select must be like team=risk; got ${text || 'nothing'}.`);
    return text;
  });
}

/** @param what of which so much may go */
export const mostDeleted = (what: string, faults: Faults) =>
  wholeNumber('--max-delete-percent <n>', `the most that may be deleted of ${what}`, { min: 0, max: 100, default: 10 }, faults);

/** An argument that is an id of the database or a version. */
export function wholeArgument(text: string): string {
  if (/^[1-9]\d{0,17}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be a whole number from 1.');
}

export const overridesPath = (merchantId: string): string => `/v1/merchants/${encodeURIComponent(merchantId)}/overrides`;
export const bucketsPath = (merchantId: string): string => `/v1/merchants/${encodeURIComponent(merchantId)}/buckets`;

/** The address of the rules of a merchant or a plan, or of the default rules. */
export function rulesPath(merchantId: string | undefined, plan?: string): string {
  if (plan !== undefined) return `/v1/plans/${encodeURIComponent(plan)}/rules`;
  return merchantId === undefined ? '/v1/default-rules' : `/v1/merchants/${encodeURIComponent(merchantId)}/rules`;
}
