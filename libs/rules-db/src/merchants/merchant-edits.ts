import { type EntityManager, In } from 'typeorm';
import type { Actor, Change } from '../changes/change.js';
import { DeletedMerchantEntity } from './deleted-merchant.entity.js';
import { MerchantNotFoundError } from '../connection/errors.js';
import { MerchantApiKeyEntity } from './merchant-api-key.entity.js';
import {
  complete,
  deletedMerchant,
  endOverrides,
  idTaken,
  knownPlan,
  type MerchantChanges,
  type MerchantSpec,
  moveRules,
  plansOf,
} from './merchant-row.js';
import { MerchantEntity } from './merchant.entity.js';
import { demandNoneProtected } from '../changes/protected-rule.js';
import { insertRows, updateRows } from '../connection/row-sets.js';
import { RuleEntity } from '../rules/rule.entity.js';
import { raiseRulesVersions, takeTombstones } from '../rules/rules-version.js';

/** A merchant as it was read, and what changes. */
export interface MerchantEdit {
  readonly before: MerchantEntity;
  readonly changes: MerchantChanges;
}

interface Writing {
  readonly by: Actor;
  readonly record: (change: Change) => void;
}

/** Creates merchants of different ids, some hundred at most, in a few statements. @throws MerchantExistsError, UnknownPlanError */
export async function createMerchants(manager: EntityManager, specs: readonly MerchantSpec[], { by, record }: Writing): Promise<void> {
  const ids = specs.map(({ id }) => id);
  const inserted = await createdAll(
    specs,
    insertRows<MerchantEntity, 'id' | 'createdAt' | 'updatedAt'>(
      manager,
      MerchantEntity,
      specs.map((spec) => ({ ...complete(spec), version: 1, rulesVersion: 1 })),
      ['id', 'createdAt', 'updatedAt'],
    ),
  );
  const versions = await takeTombstones(manager, ids);
  const continued = [...versions].map(([id, last]) => ({ id, version: last + 1, rulesVersion: last + 1 }));
  await updateRows<MerchantEntity, never>(manager, MerchantEntity, continued, { keys: ['id'], returning: [] });
  const times = new Map(inserted.map((row) => [row.id, row]));
  for (const spec of specs) {
    const version = (versions.get(spec.id) ?? 0) + 1;
    const after = { ...complete(spec), version, rulesVersion: version, ...times.get(spec.id) };
    record({ merchantId: spec.id, action: 'merchant.created', before: null, after, version, by });
  }
}

/**
 * Changes merchants that the caller has locked, in a few statements.
 * @param nowMs read for each merchant whose limits move to another time zone
 * @throws VersionConflictError if one of them is not what was read, UnknownPlanError
 */
export async function updateMerchants(
  manager: EntityManager,
  changed: readonly MerchantEdit[],
  nowMs: () => number,
  { by, record }: Writing,
): Promise<void> {
  const ids = changed.map(({ before }) => before.id);
  const raised = await raiseRulesVersions(manager, ids);
  const updated = await knownPlan(
    plansOf(changed.map(({ changes }) => changes)),
    updateRows<MerchantEntity, 'id' | 'updatedAt'>(manager, MerchantEntity, changed.map(editedRow(changed)), {
      keys: ['id'],
      raises: 'version',
      returning: ['id', 'updatedAt'],
    }),
  );
  const times = new Map(updated.map(({ id, updatedAt }) => [id, updatedAt]));
  for (const { before, changes } of changed) {
    const [rulesVersion, updatedAt] = [raised.get(before.id), times.get(before.id)];
    if (rulesVersion === undefined || updatedAt === undefined) throw new MerchantNotFoundError(before.id);
    if (changes.timeZone !== undefined) await moveRules(manager, before, changes.timeZone, nowMs());
    const after = { ...before, ...changes, version: before.version + 1, rulesVersion, updatedAt };
    record({
      merchantId: before.id,
      action: 'merchant.updated',
      before: { ...before, rulesVersion },
      after,
      version: rulesVersion,
      by,
    });
  }
}

/**
 * Deletes merchants that the caller has locked with their rules and API keys, some hundred at most, in a few statements. Those that are not
 * there are not looked for.
 * @throws ApprovalWantedError if one of the rules is protected
 */
export async function deleteMerchants(
  manager: EntityManager,
  ids: readonly string[],
  nowMs: () => number,
  { by, record }: Writing,
): Promise<void> {
  const found = [...(await raiseRulesVersions(manager, ids)).keys()];
  const merchants = await manager.find(MerchantEntity, { where: { id: In(found) }, order: { id: 'ASC' } });
  const all = await manager.findBy(RuleEntity, { merchantId: In(found) });
  demandNoneProtected(all);
  const rules = byMerchant(all);
  const apiKeys = byMerchant(await manager.findBy(MerchantApiKeyEntity, { merchantId: In(found) }));
  const tombstones = merchants.map(({ id, rulesVersion }) => ({ merchantId: id, rulesVersion }));
  await insertRows<DeletedMerchantEntity>(manager, DeletedMerchantEntity, tombstones);
  await manager.query('DELETE FROM merchant WHERE id = ANY($1)', [found]);
  await endOverrides(manager, found, nowMs());
  for (const merchant of merchants) {
    const { id: merchantId, rulesVersion: version } = merchant;
    const before = deletedMerchant(merchant, rules.get(merchantId), apiKeys.get(merchantId));
    record({ merchantId, action: 'merchant.deleted', before, after: null, version, by });
  }
}

function byMerchant<T extends { readonly merchantId: string | null }>(rows: readonly T[]): Map<string | null, T[]> {
  const groups = new Map<string | null, T[]>();
  for (const row of rows) {
    const group = groups.get(row.merchantId);
    if (group) group.push(row);
    else groups.set(row.merchantId, [row]);
  }
  return groups;
}

/** Rows of one statement name the same columns: all that any of the edits changes. */
function editedRow(edits: readonly MerchantEdit[]): (edit: MerchantEdit) => Partial<MerchantEntity> {
  const names = [...new Set(edits.flatMap(({ changes }) => Object.keys(changes)))];
  return ({ before, changes }) => {
    const values = { ...before, ...changes } as Readonly<Record<string, unknown>>;
    return { id: before.id, version: before.version + 1, ...Object.fromEntries(names.map((name) => [name, values[name]])) };
  };
}

async function createdAll<T>(specs: readonly MerchantSpec[], write: Promise<T>): Promise<T> {
  return knownPlan(plansOf(specs), idTaken(specs.map(({ id }) => id).join(', '), write));
}
