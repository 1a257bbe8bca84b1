import { Inject, Injectable } from '@nestjs/common';
import {
  type Actor,
  MerchantNotFoundError,
  MerchantRepository,
  OverrideFaultsError,
  OverrideNotFoundError,
  OverrideRepository,
  type OverrideSpec,
} from '#rules-db';
import { badBody } from '../http/validation.pipe.js';
import { decodeCursor, encodeCursor, type Page, toPage } from '../pagination/page.js';
import type { PageQueryDto } from '../pagination/page-query.dto.js';
import { type CreateOverrideDto, overrideView, type OverrideView } from './override.dto.js';

const LIST = 'overrides';
const LONGEST_MS = 366 * 86_400_000;

/** Other numbers of a rule for one merchant, for a time. */
@Injectable()
export class OverridesService {
  constructor(
    @Inject(OverrideRepository) private readonly overrides: OverrideRepository,
    @Inject(MerchantRepository) private readonly merchants: MerchantRepository,
  ) {}

  async create(merchantId: string, body: CreateOverrideDto, by: Actor): Promise<OverrideView> {
    const spec = specOf(body, by);
    const actor = { ...by, ...(spec.reason !== null && { reason: spec.reason }) };
    try {
      return overrideView(await this.overrides.create(merchantId, spec, actor), Date.now());
    } catch (error) {
      if (!(error instanceof OverrideFaultsError)) throw error;
      throw badBody(
        error.faults.map(({ at, detail, code }) => ({ pointer: `/${at}`, code: code ?? `override.${lastPart(at)}.out_of_range`, detail })),
      );
    }
  }

  async list(merchantId: string, { size, cursor }: PageQueryDto): Promise<Page<OverrideView>> {
    const after = cursor === undefined ? undefined : decodeCursor(LIST, cursor, isId)[0];
    const rows = await this.overrides.list(merchantId, { after, limit: size + 1 });
    if (rows.length === 0) await this.demandMerchant(merchantId);
    const nowMs = Date.now();
    return toPage(
      rows,
      size,
      (row) => overrideView(row, nowMs),
      ({ id }) => encodeCursor(LIST, [id]),
    );
  }

  async get(merchantId: string, id: string): Promise<OverrideView> {
    const found = await this.overrides.find(merchantId, id);
    if (!found) throw new OverrideNotFoundError(id);
    return overrideView(found, Date.now());
  }

  async delete(merchantId: string, id: string, by: Actor): Promise<void> {
    await this.overrides.delete(merchantId, id, by);
  }

  private async demandMerchant(merchantId: string): Promise<void> {
    if (!(await this.merchants.find(merchantId))) throw new MerchantNotFoundError(merchantId);
  }
}

/** @throws ProblemError 400 */
function specOf({ ruleId, multiply, limits, until, reason }: CreateOverrideDto, by: Actor): OverrideSpec {
  const untilMs = Date.parse(until);
  const nowMs = Date.now();
  if (untilMs <= nowMs || untilMs > nowMs + LONGEST_MS) {
    const detail = `must be in the future and at most a year away, got ${JSON.stringify(until)}`;
    throw badBody([{ pointer: '/until', code: 'override.until.out_of_range', detail }]);
  }
  const common = { ruleId, untilMs, reason: reason ?? by.reason ?? null };
  if ((multiply === undefined) === (limits === undefined)) {
    const code = multiply === undefined ? 'override.multiply.missing' : 'override.multiply.not_applicable';
    throw badBody([{ pointer: '/multiply', code, detail: 'must be given, or limits instead of it, but not both' }]);
  }
  if (multiply !== undefined) return { ...common, numbers: { multiply } };
  return { ...common, numbers: { limits: limits!.map(numbersOf) } };
}

function numbersOf(
  { name, ...numbers }: Readonly<Record<string, unknown>>,
  index: number,
  all: readonly Readonly<Record<string, unknown>>[],
) {
  const at = `/limits/${index}`;
  if (all.findIndex((each) => each['name'] === name) < index) {
    throw badBody([
      { pointer: `${at}/name`, code: 'override.limits.repeated', detail: `must be different from the others, got ${JSON.stringify(name)}` },
    ]);
  }
  const given = Object.entries(numbers).filter((entry): entry is [string, number] => entry[1] !== undefined);
  if (given.length === 0)
    throw badBody([{ pointer: at, code: 'override.limits.missing', detail: 'must have a number in place of one of the limit' }]);
  return { name: name as string, numbers: Object.fromEntries(given) };
}

const lastPart = (path: string): string => path.split('/').at(-1)!;

function isId(values: readonly unknown[]): values is [string] {
  return values.length === 1 && typeof values[0] === 'string' && /^[1-9]\d{0,17}$/.test(values[0]);
}
