import { InvalidArgumentError, Option } from '@commander-js/extra-typings';

/** Options that several commands have. */
export const asJson = () => new Option('--json', 'print JSON instead of a table');
export const reason = () => new Option('--reason <text>', 'why the change is made; the history keeps it');
export const merchant = () => new Option('--merchant <id>', 'the merchant');
export const plan = () => new Option('--plan <name>', 'the plan').conflicts('merchant');

export const ABOUT_CONNECTION = `The Rules API is the one of npx tollgate login, or of the variables
  TOLLGATE_URL    its address
  TOLLGATE_TOKEN  a token`;

/** An argument that is an id of the database or a version. */
export function wholeArgument(text: string): string {
  if (/^[1-9]\d{0,17}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be a whole number from 1.');
}

/** The address of the rules of a merchant or a plan, or of the default rules. */
export function rulesPath(merchantId: string | undefined, plan?: string): string {
  if (plan !== undefined) return `/v1/plans/${encodeURIComponent(plan)}/rules`;
  return merchantId === undefined ? '/v1/default-rules' : `/v1/merchants/${encodeURIComponent(merchantId)}/rules`;
}
