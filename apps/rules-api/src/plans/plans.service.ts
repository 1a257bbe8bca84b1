import { Inject, Injectable } from '@nestjs/common';
import { isPlanName } from '#limiter';
import { type Actor, type ExpectedVersions, PlanExistsError, PlanNotFoundError, PlanRepository } from '#rules-db';
import { expectedVersions } from '../http/entity-tag.js';
import { decodeCursor, encodeCursor, type Page, toPage } from '../pagination/page.js';
import type { PageQueryDto } from '../pagination/page-query.dto.js';
import { type PlanDto, planView, type PlanView } from './plan.dto.js';

const LIST = 'plans';

/** Plans without their rules, which are those of an owner like any other. */
@Injectable()
export class PlansService {
  constructor(@Inject(PlanRepository) private readonly plans: PlanRepository) {}

  async list({ size, cursor }: PageQueryDto): Promise<Page<PlanView>> {
    const after = cursor === undefined ? undefined : decodeCursor(LIST, cursor, isName)[0];
    const rows = await this.plans.list({ after, limit: size + 1 });
    return toPage(rows, size, planView, ({ name }) => encodeCursor(LIST, [name]));
  }

  async get(name: string): Promise<PlanView> {
    const plan = await this.plans.find(name);
    if (!plan) throw new PlanNotFoundError(name);
    return planView(plan);
  }

  /**
   * Creates the plan, or replaces what stands.
   *
   * @param expected undefined: there is no plan of this name yet
   * @throws PlanNotFoundError if versions are expected and there is none; ProblemError 428 if none is expected and there is one
   */
  async write(
    name: string,
    expected: ExpectedVersions | undefined,
    { note = '', labels = {} }: PlanDto,
    by: Actor,
  ): Promise<{ plan: PlanView; isNew: boolean }> {
    if (expected !== undefined) return { plan: planView(await this.plans.replace(name, expected, { note, labels }, by)), isNew: false };
    try {
      return { plan: planView(await this.plans.create(name, { note, labels }, by)), isNew: true };
    } catch (error) {
      if (error instanceof PlanExistsError) expectedVersions(undefined);
      throw error;
    }
  }

  async delete(name: string, expected: ExpectedVersions, by: Actor): Promise<void> {
    await this.plans.delete(name, expected, by);
  }
}

function isName(values: readonly unknown[]): values is [string] {
  return values.length === 1 && isPlanName(values[0]);
}
