import { type EntityManager, In, MoreThan } from 'typeorm';
import { type Labels, moveLimits } from '#limiter';
import { violatedConstraint, violatedForeignKey } from '../connection/availability.js';
import { MerchantExistsError, UnknownPlanError } from '../connection/errors.js';
import type { MerchantApiKeyEntity } from './merchant-api-key.entity.js';
import { MERCHANT_PLAN, type MerchantEntity } from './merchant.entity.js';
import { OverrideEntity } from '../rules/override.entity.js';
import { RuleEntity } from '../rules/rule.entity.js';
import { isReadableRule } from '../rules/stored-row.js';

/** The fields of a merchant that an administrator writes. */
export interface MerchantSpec {
  readonly id: string;
  readonly name: string;
  readonly timeZone: string;
  readonly labels?: Labels;
  /** Null: none. */
  readonly plan?: string | null;
}

export type MerchantChanges = Partial<Omit<MerchantSpec, 'id'>>;

/** What a merchant is created without. */
export function complete(spec: MerchantSpec): Required<MerchantSpec> {
  return { ...spec, labels: spec.labels ?? {}, plan: spec.plan ?? null };
}

/** A merchant in the audit, with what goes with it. */
export function deletedMerchant(
  merchant: MerchantEntity,
  rules: readonly RuleEntity[] = [],
  apiKeys: readonly MerchantApiKeyEntity[] = [],
): object {
  return { ...merchant, rules, ...(apiKeys.length > 0 && { apiKeys }) };
}

/** Moves the limits that follow the merchant's calendar to its new time zone. The rules keep their versions, as no administrator wrote them. */
export async function moveRules(manager: EntityManager, { id, timeZone }: MerchantEntity, to: string, atMs: number): Promise<void> {
  for (const rule of await manager.findBy(RuleEntity, { merchantId: id })) {
    if (!isReadableRule(rule)) continue;
    const limits = moveLimits(rule.limits, timeZone, to, atMs);
    if (limits !== rule.limits) await manager.update(RuleEntity, { id: rule.id }, { limits: [...limits] });
  }
}

/** A merchant that comes back has none of them; buckets of default rules remember that there were some. */
export async function endOverrides(manager: EntityManager, merchantIds: readonly string[], atMs: number): Promise<void> {
  const at = new Date(atMs);
  await manager.update(
    OverrideEntity,
    { merchantId: In([...merchantIds]), untilAt: MoreThan(at) },
    { untilAt: at, deleted: true, endRecorded: true },
  );
}

/** Tells that the id is taken, where an insert says so. @throws MerchantExistsError */
export async function idTaken<T>(id: string, write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (violatedConstraint(error) === 'merchant_pkey') throw new MerchantExistsError(id);
    throw error;
  }
}

/** The plans that these merchants get, for an error. */
export function plansOf(changes: readonly MerchantChanges[]): string {
  return [...new Set(changes.map(({ plan }) => plan).filter((plan) => typeof plan === 'string'))].join(', ');
}

/** Tells that there is no such plan, where a write says so. @throws UnknownPlanError */
export async function knownPlan<T>(plan: string | null | undefined, write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (violatedForeignKey(error) === MERCHANT_PLAN) throw new UnknownPlanError(String(plan));
    throw error;
  }
}
