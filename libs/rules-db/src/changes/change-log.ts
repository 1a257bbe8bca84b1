import type { EntityManager } from 'typeorm';
import { AuditEntity } from './audit.entity.js';
import type { Change } from './change.js';
import { OutboxEntity } from '../webhooks/outbox.entity.js';
import { insertRows, insertTexts, ROWS_AT_ONCE } from '../connection/row-sets.js';
import { Spool } from '../connection/spool.js';
import { eventsOf, recordEvents, type WebhookEvent } from '../webhooks/webhook-events.js';

/** Inserts the audit row and the outbox row of a change, in the transaction of the change. */
export async function recordChange(manager: EntityManager, change: Change): Promise<void> {
  await recordChanges(manager, [change]);
}

/** The same for many changes of one transaction. The outbox gets one row for each owner, with the last version; receivers are told as well. */
export async function recordChanges(manager: EntityManager, changes: readonly Change[]): Promise<void> {
  const log = new ChangeLog();
  for (const change of changes) log.push(change);
  await log.write(manager);
}

type News = Pick<OutboxEntity, 'merchantId' | 'plan' | 'version'>;

/**
 * What the end of a transaction has to tell of its changes, in their order: the audit, gateways and receivers. Changes are turned at once into the rows that
 * will be written, and these are kept packed: they are never read again.
 */
export class ChangeLog {
  private readonly auditRows = new Spool<AuditRow>();
  private readonly events = new Spool<WebhookEvent>();
  /** The last version of each owner. */
  private readonly news = new Map<string, News>();
  /** Of which no event was made yet. */
  private untold: Change[] = [];

  push(change: Change): void {
    const { merchantId, plan = null, version } = change;
    this.auditRows.push(auditRow(change));
    if (version !== undefined) this.news.set(ownerKey(change), { merchantId, plan, version });
    this.untold.push(change);
    if (this.untold.length >= ROWS_AT_ONCE) this.tellAllButTheLast();
  }

  /** The last statements of the transaction: with the first audit row all other writers begin to wait. */
  async write(manager: EntityManager): Promise<void> {
    this.tell(this.untold);
    this.untold = [];
    for (const some of this.events.batches()) await recordEvents(manager, some);
    await insertTexts<AuditEntity>(manager, AuditEntity, AUDIT_COLUMNS, this.auditRows.texts());
    await insertRows<OutboxEntity>(manager, OutboxEntity, [...this.news.values()]);
  }

  /** What stands together of one owner is told together, so the last owner waits for what may still come. */
  private tellAllButTheLast(): void {
    const last = ownerKey(this.untold.at(-1)!);
    const end = this.untold.findLastIndex((change) => ownerKey(change) !== last) + 1;
    this.tell(this.untold.slice(0, end));
    this.untold = this.untold.slice(end);
  }

  private tell(changes: readonly Change[]): void {
    for (const event of eventsOf(changes)) this.events.push(event);
  }
}

function ownerKey({ merchantId, plan = null }: Pick<Change, 'merchantId' | 'plan'>): string {
  return JSON.stringify([merchantId, plan]);
}

type AuditRow = Omit<AuditEntity, 'id' | 'at' | 'seq' | 'hash'>;
const AUDIT_COLUMNS = [
  'actor',
  'requestId',
  'reason',
  'action',
  'merchantId',
  'ruleId',
  'before',
  'after',
] as const satisfies (keyof AuditRow)[];

function auditRow({ merchantId, ruleId, action, before, after, by }: Change): AuditRow {
  const { name: actor, requestId = null, reason = null, approval } = by;
  const row = { actor, requestId, reason, action, merchantId, ruleId: ruleId ?? null, before, after };
  if (approval === undefined) return row;
  // Inside of what the chain covers. A deletion has no state after it.
  return after === null ? { ...row, before: { ...before, approval } } : { ...row, after: { ...after, approval } };
}
