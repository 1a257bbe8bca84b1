import { table } from '../shared/output.js';

/** A change as the history and the audit show it. */
export interface Change {
  readonly id: string;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly merchantId: string | null;
  readonly plan?: string | null;
  readonly ruleId: string | null;
  readonly version: number | null;
  readonly reason: string | null;
  readonly patch: readonly { readonly op: string; readonly path: string }[];
}

const COLUMNS = ['place', 'at', 'by', 'action', 'merchant', 'rule', 'version', 'changed', 'reason'];

export function changesTable(changes: readonly Change[]): string {
  const rows = changes.map(({ id, at, actor, action, merchantId, plan, ruleId, version, patch, reason }) => [
    id,
    at,
    actor,
    action,
    merchantId ?? (plan ? `plan ${plan}` : '-'),
    ruleId ?? '-',
    String(version ?? '-'),
    patch.map(({ path }) => path || 'all').join(' '),
    reason ?? '-',
  ]);
  return table(COLUMNS, rows, 'words');
}
