import { count, print } from '../shared/output.js';
import { readRulesFile, type RulesFile } from './file.js';
import { reasonHeader, RulesApi } from './rules-api.js';

export interface ApplyOptions {
  readonly dryRun: boolean;
  readonly maxDeletePercent: number;
  readonly deleteMerchants: boolean;
  readonly deletePlans: boolean;
  /** Only what has this label, as LABEL=VALUE. */
  readonly select?: string | undefined;
  /** Whether warnings are errors. */
  readonly strict?: boolean;
  readonly reason?: string | undefined;
  readonly json: boolean;
}

interface Change {
  readonly action: 'create' | 'update' | 'delete';
  readonly kind: 'plan' | 'plan_rule' | 'merchant' | 'rule' | 'default_rule';
  readonly plan?: string;
  readonly id: string;
  readonly merchantId: string | null;
  readonly patch: readonly { readonly op: string; readonly path: string; readonly value?: unknown }[];
}

export interface ApplyResult {
  readonly changes: readonly Change[];
  readonly applied: boolean;
  readonly refusal?: { readonly code: string; readonly detail: string };
  /** The first ones; their pointers point into the file. */
  readonly warnings?: readonly Warning[];
  readonly moreWarnings?: number;
}

interface Warning {
  readonly code: string;
  readonly pointer: string;
  readonly detail: string;
}

/** Sends a file and prints what it changes. @throws CommandError */
export async function applyFile(path: string, options: ApplyOptions): Promise<ApplyResult> {
  return applyContent(readRulesFile(path), options);
}

/** The same of what was read or made already. @throws CommandError */
export async function applyContent(
  { content, placeOf }: RulesFile,
  { dryRun, maxDeletePercent, deleteMerchants, deletePlans, select, strict = false, reason, json }: ApplyOptions,
): Promise<ApplyResult> {
  const api = RulesApi.of(process.env);
  const query = {
    dryRun: String(dryRun),
    maxDeletePercent: String(maxDeletePercent),
    deleteMerchants: String(deleteMerchants),
    // An older Rules API does not know them.
    deletePlans: deletePlans ? 'true' : undefined,
    strict: strict ? 'true' : undefined,
    select,
  };
  const request = { method: 'POST', query, body: content ?? null, headers: reasonHeader(reason) } as const;
  const result = await api.ask<ApplyResult>('/v1/apply', request, placeOf);
  print(json ? JSON.stringify(result, null, 2) : inWords(result, placeOf));
  return result;
}

const SIGNS = { create: '+', update: '~', delete: '-' } as const;

function inWords({ changes, applied, refusal, warnings = [], moreWarnings = 0 }: ApplyResult, placeOf: RulesFile['placeOf']): string {
  const lines = changes.flatMap((change) => [`${SIGNS[change.action]} ${nameOf(change)}`, ...stepsOf(change)]);
  const counts = (['create', 'update', 'delete'] as const)
    .map((action) => `${changes.filter((change) => change.action === action).length} to ${action}`)
    .join(', ');
  const summary =
    changes.length === 0 ? 'No difference.' : applied ? `Applied ${count(changes.length)} changes.` : `Not applied: ${counts}.`;
  const warned = warnings.map(({ code, pointer, detail }) => `! ${placeOf(pointer)} ${detail} (${code})`);
  const others = moreWarnings > 0 ? [`! and ${count(moreWarnings)} more warnings`] : [];
  return [...lines, ...warned, ...others, summary, ...(refusal ? [`apply would refuse it: ${refusal.detail}.`] : [])].join('\n');
}

function nameOf({ kind, id, merchantId, plan }: Change): string {
  if (kind === 'plan') return `plan ${id}`;
  if (kind === 'plan_rule') return `rule "${id}" of plan ${plan}`;
  if (kind === 'merchant') return `merchant ${id}`;
  return kind === 'rule' ? `rule "${id}" of ${merchantId}` : `default rule "${id}"`;
}

/** What an update changes; of what is new or deleted the name is enough. */
function stepsOf({ action, patch }: Change): string[] {
  if (action !== 'update') return [];
  return patch.map(({ op, path, value }) => `    ${path || '/'} ${op === 'remove' ? 'is removed' : `becomes ${JSON.stringify(value)}`}`);
}
