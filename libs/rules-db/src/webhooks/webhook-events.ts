import type { EntityManager } from 'typeorm';
import type { ProposedChange } from '../changes/protected-rule.js';
import type { WebhookEventType } from './webhook.entity.js';

/** As much of a change as receivers are told. */
interface Told {
  readonly merchantId: string | null;
  readonly plan?: string | null;
  readonly ruleId?: string;
  readonly action: string;
  readonly before: object | null;
  readonly after: object | null;
  readonly by: {
    readonly name: string;
    readonly requestId?: string;
    readonly reason?: string;
    readonly approval?: { readonly id: string; readonly by: string };
  };
}

/** Something to tell. */
export interface WebhookEvent {
  readonly type: WebhookEventType;
  readonly data: object;
}

interface ChangedRule {
  readonly ruleId: string | null;
  readonly action: string;
  /** Null: it was deleted. */
  readonly version: number | null;
}

/** As much of an override as the audit keeps. */
interface RecordedOverride {
  readonly override: string;
  readonly multiply?: number;
  readonly limits?: readonly object[];
  readonly from: Date;
  readonly until: Date;
  readonly state: string;
}

/** What the changes of one transaction are to receivers: one event for all changed rules of an owner, so that a large file is not a flood of events. */
export function eventsOf(changes: readonly Told[]): WebhookEvent[] {
  const ofOwners = new Map<string, { readonly owner: object; readonly rules: ChangedRule[]; readonly by: Told['by'] }>();
  for (const change of changes) {
    const rules = changedRules(change);
    if (rules.length === 0) continue;
    const owner = ownerIn(change);
    const key = JSON.stringify(owner);
    const ofOwner = ofOwners.get(key) ?? { owner, rules: [], by: change.by };
    ofOwner.rules.push(...rules);
    ofOwners.set(key, ofOwner);
  }
  return [
    ...[...ofOwners.values()].map(({ owner, rules, by }): WebhookEvent => ({
      type: 'rule.changed',
      data: { ...owner, changes: rules, ...actorsOf(by) },
    })),
    ...changes.filter(({ action }) => action === 'approval.wanted').map(wantedApproval),
    ...changes.filter(({ action }) => action === 'override.ended' || action === 'override.deleted').map(endedOverride),
  ];
}

/** Inserts some hundred events, in the transaction of the changes; nothing if nobody wants to know. */
export async function recordEvents(manager: EntityManager, events: readonly WebhookEvent[]): Promise<void> {
  const timestamp = new Date().toISOString();
  await manager.query(
    `INSERT INTO webhook_event (type, body)
     SELECT e.type, e.body FROM unnest($1::text[], $2::text[]) AS e (type, body)
     WHERE EXISTS (SELECT 1 FROM webhook w WHERE w.enabled AND w.events @> to_jsonb(e.type))`,
    [events.map(({ type }) => type), events.map(({ type, data }) => JSON.stringify({ type, timestamp, data }))],
  );
}

/** Whose rules they are; a plan is named only where it is one. */
function ownerIn({ merchantId, plan }: Pick<Told, 'merchantId' | 'plan'>): object {
  return { merchantId, ...(plan && { plan }) };
}

function changedRules({ action, ruleId, before, after }: Told): ChangedRule[] {
  if (action.startsWith('rule.')) {
    return [{ ruleId: ruleId ?? null, action, version: (after as { version?: number } | null)?.version ?? null }];
  }
  if (action !== 'merchant.deleted' && action !== 'plan.deleted') return [];
  const { rules = [] } = before as { rules?: readonly { readonly id: string }[] };
  return rules.map(({ id }) => ({ ruleId: id, action: 'rule.deleted', version: null }));
}

function wantedApproval({ merchantId, plan, after, by }: Told): WebhookEvent {
  const { approval, expiresAt, change } = after as { approval: { id: string }; expiresAt: Date; change: ProposedChange };
  const { action, ruleId, version } = change;
  return {
    type: 'approval.wanted',
    data: { approvalId: approval.id, ...ownerIn({ merchantId, plan: plan ?? null }), ruleId, action, version, expiresAt, ...actorsOf(by) },
  };
}

/** By itself or by hand: whoever relies on it learns both. */
function endedOverride({ merchantId, ruleId, before, after, by }: Told): WebhookEvent {
  // What stood before says what was promised; what stands after, when it ended.
  const { override: overrideId, multiply, limits, from } = before as RecordedOverride;
  const { until, state } = after as RecordedOverride;
  const numbers = multiply === undefined ? { limits } : { multiply };
  return { type: 'override.ended', data: { overrideId, merchantId, ruleId, ...numbers, from, until, state, ...actorsOf(by) } };
}

function actorsOf({ name: actor, approval, reason, requestId }: Told['by']): object {
  return { actor, ...(approval && { approvedBy: approval.by }), reason: reason ?? null, requestId: requestId ?? null };
}
