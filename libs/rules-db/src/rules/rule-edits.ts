import { type EntityManager, In } from 'typeorm';
import { editLimits, type RuleSpec, startLimits } from '#limiter';
import type { Actor, Change } from '../changes/change.js';
import { MerchantNotFoundError, TooManyRulesError, VersionConflictError } from '../connection/errors.js';
import { MerchantEntity } from '../merchants/merchant.entity.js';
import { raiseRulesVersions } from './rules-version.js';
import { insertRows, updateRows } from '../connection/row-sets.js';
import { demandApproval } from '../changes/rule-approval.js';
import { type OwnerColumns, ownerColumns, ownerOf, raiseVersion, type RuleOwner } from './rule-owner.js';
import { complete, nameTaken, stored } from './rule-row.js';
import { RuleEntity } from './rule.entity.js';
import { isReadableRule } from './stored-row.js';

/** The maximum number of rules of one owner: a gateway looks at all of them for each request. */
export const MAX_RULES_PER_OWNER = 100;

/** What changes of the rules of one owner. */
export interface RuleEdits {
  readonly owner: RuleOwner;
  readonly deleted: readonly RuleEntity[];
  readonly replaced: readonly { readonly before: RuleEntity; readonly spec: RuleSpec }[];
  readonly created: readonly RuleSpec[];
}

interface Writing {
  readonly nowMs: number;
  readonly by: Actor;
  readonly record: (change: Change) => void;
}

/** Makes the edits of several owners in a few statements, in a transaction that has locked the owners. */
export async function makeEdits(manager: EntityManager, edits: readonly RuleEdits[], { nowMs, by, record }: Writing): Promise<void> {
  const owners = await raiseVersions(
    manager,
    edits.map(({ owner }) => owner),
  );
  await deleteRules(manager, edits);
  const replaced = await replaceRules(manager, edits, owners, nowMs);
  await demandRoom(manager, edits);
  const created = await createRules(manager, edits, nowMs);
  demandApproval(
    edits.flatMap(({ owner, deleted, replaced: replacements }) => [
      ...deleted.map((before) => ({ owner, before, after: null, action: 'rule.deleted' as const })),
      ...replacements.map(({ before, spec }) => ({ owner, before, after: spec, action: 'rule.replaced' as const })),
    ]),
    by,
  );
  for (const { owner, deleted, replaced: replacements, created: specs } of edits) {
    const about = { ...ownerColumns(owner), version: owners.get(owner)!.version, by };
    for (const before of deleted) record({ ...about, ruleId: before.id, action: 'rule.deleted', before, after: null });
    for (const { before } of replacements)
      record({ ...about, ruleId: before.id, action: 'rule.replaced', before, after: replaced.get(before.id)! });
    for (const { name } of specs) {
      const after = created.get(nameOf(owner, name))!;
      record({ ...about, ruleId: after.id, action: 'rule.created', before: null, after });
    }
  }
}

/** A rule as it is stored, in the form of the audit. */
type Stored = Omit<RuleEntity, 'merchant' | 'planOfRule' | 'showWritten'>;

interface Owner {
  /** The new version of the snapshot. */
  readonly version: number;
  readonly timeZone: string | undefined;
}

async function raiseVersions(manager: EntityManager, owners: readonly RuleOwner[]): Promise<Map<RuleOwner, Owner>> {
  const ids = owners.filter((owner) => typeof owner === 'string');
  const versions = ids.length === 0 ? new Map<string, number>() : await raiseRulesVersions(manager, ids);
  const merchants =
    ids.length === 0 ? [] : await manager.find(MerchantEntity, { select: { id: true, timeZone: true }, where: { id: In(ids) } });
  const timeZones = new Map(merchants.map(({ id, timeZone }) => [id, timeZone]));
  const raised = new Map<RuleOwner, Owner>();
  for (const owner of owners) {
    const ofMerchant = typeof owner === 'string';
    const version = ofMerchant ? versions.get(owner) : await raiseVersion(manager, owner);
    if (version === undefined) throw new MerchantNotFoundError(owner as string);
    raised.set(owner, { version, timeZone: ofMerchant ? timeZones.get(owner) : undefined });
  }
  return raised;
}

async function deleteRules(manager: EntityManager, edits: readonly RuleEdits[]): Promise<void> {
  const deleted = edits.flatMap((edit) => edit.deleted);
  if (deleted.length === 0) return;
  const [ids, versions] = [deleted.map(({ id }) => id), deleted.map(({ version }) => version)];
  const [, count] = (await manager.query(
    'DELETE FROM rule USING unnest($1::bigint[], $2::int[]) AS gone(id, version) WHERE rule.id = gone.id AND rule.version = gone.version',
    [ids, versions],
  )) as [unknown, number];
  if (count !== deleted.length) throw new VersionConflictError(versions[0]!);
}

/** The rules by their ids, as they are then. */
async function replaceRules(
  manager: EntityManager,
  edits: readonly RuleEdits[],
  owners: ReadonlyMap<RuleOwner, Owner>,
  nowMs: number,
): Promise<Map<string, Stored>> {
  const after = new Map<string, Stored>();
  for (const { owner, replaced } of edits) {
    for (const { before, spec } of replaced) {
      // Limits that cannot be parsed have no history to continue: no gateway has used them.
      const limits = isReadableRule(before)
        ? editLimits(before.limits, spec.limits, nowMs, owners.get(owner)!.timeZone)
        : startLimits(spec.limits, nowMs);
      after.set(before.id, Object.assign({ ...before }, complete(spec), { limits, version: before.version + 1 }));
    }
  }
  const rows = edits.flatMap(({ owner, replaced }) =>
    replaced.map(({ before: { id }, spec }) => {
      const { limits, version } = after.get(id)!;
      return Object.assign(stored(spec, owner), { id, limits, version });
    }),
  );
  const updated = await updateRows<RuleEntity, 'id' | 'updatedAt'>(manager, RuleEntity, rows, {
    keys: ['id'],
    raises: 'version',
    returning: ['id', 'updatedAt'],
  });
  if (updated.length !== after.size) throw new VersionConflictError(rows[0]!.version - 1);
  for (const { id, updatedAt } of updated) after.get(id)!.updatedAt = updatedAt;
  return after;
}

const keyOf = ({ merchantId, plan }: OwnerColumns): string => JSON.stringify([merchantId, plan]);

async function demandRoom(manager: EntityManager, edits: readonly RuleEdits[]): Promise<void> {
  const creating = edits.filter(({ created }) => created.length > 0);
  const owners = creating.map(({ owner }) => ownerColumns(owner));
  const counted = (await manager.query(
    `SELECT merchant_id AS "merchantId", plan, count(*)::int AS rules FROM rule WHERE merchant_id = ANY($1) GROUP BY 1, 2
     UNION ALL SELECT merchant_id, plan, count(*)::int FROM rule WHERE plan = ANY($2) GROUP BY 1, 2
     UNION ALL SELECT merchant_id, plan, count(*)::int FROM rule WHERE $3 AND merchant_id IS NULL AND plan IS NULL GROUP BY 1, 2`,
    [
      owners.map(({ merchantId }) => merchantId).filter((id) => id !== null),
      owners.map(({ plan }) => plan).filter((plan) => plan !== null),
      creating.some(({ owner }) => owner === null),
    ],
  )) as (OwnerColumns & { rules: number })[];
  const others = new Map(counted.map(({ rules, ...owner }) => [keyOf(owner), rules]));
  for (const { owner, created } of creating)
    if ((others.get(keyOf(ownerColumns(owner))) ?? 0) + created.length > MAX_RULES_PER_OWNER)
      throw new TooManyRulesError(MAX_RULES_PER_OWNER);
}

/** The new rules by their owners and names. */
async function createRules(manager: EntityManager, edits: readonly RuleEdits[], nowMs: number): Promise<Map<string, Stored>> {
  const created = edits.flatMap(({ owner, created: specs }) => specs.map((spec) => ({ owner, spec })));
  const rows = created.map(({ owner, spec }) =>
    Object.assign(stored(spec, owner), { limits: startLimits(spec.limits, nowMs), version: 1 }),
  );
  const names = rows.length <= MAX_RULES_PER_OWNER ? rows.map(({ name }) => name).join(', ') : 'that the document gives to a new rule';
  type Given = 'id' | 'merchantId' | 'plan' | 'name' | 'createdAt' | 'updatedAt';
  const returning: readonly Given[] = ['id', 'merchantId', 'plan', 'name', 'createdAt', 'updatedAt'];
  const inserted = await nameTaken(names, insertRows<RuleEntity, Given>(manager, RuleEntity, rows, returning));
  const given = new Map(inserted.map((row) => [nameOf(ownerOf(row), row.name), row]));
  return new Map(
    created.map(({ owner, spec }, i) => {
      const key = nameOf(owner, spec.name);
      const { limits, version } = rows[i]!;
      return [key, Object.assign(complete(spec), { limits, version }, given.get(key)!)];
    }),
  );
}

const nameOf = (owner: RuleOwner, name: string): string => JSON.stringify([ownerColumns(owner), name]);
