import { Inject, Injectable } from '@nestjs/common';
import { isPlanName } from '#limiter';
import { type Actor, type ExpectedVersions, PlanExistsError, type PlanEntity, PlanNotFoundError, PlanRepository } from '#rules-db';
import { expectedVersions } from '../http/entity-tag.js';
import { mergePatch } from '../http/merge-patch.js';
import { jsonObject, validated } from '../http/validation.pipe.js';
import { decodeCursor, encodeCursor, type Page, toPage } from '../pagination/page.js';
import type { PageQueryDto } from '../pagination/page-query.dto.js';
import { PlanDto, planView, type PlanView } from './plan.dto.js';

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

  /** @param patch a JSON merge patch; what it makes of the plan is checked as a whole */
  async patch(name: string, expected: ExpectedVersions, patch: object, by: Actor): Promise<PlanView> {
    const after = ({ note, labels }: PlanEntity) => {
      const merged = validated(mergePatch({ note, labels }, jsonObject(patch), PlanDto.fields), PlanDto);
      return { note: merged.note ?? '', labels: merged.labels ?? {} };
    };
    return planView(await this.plans.replace(name, expected, after, by));
  }

  async delete(name: string, expected: ExpectedVersions, by: Actor): Promise<void> {
    await this.plans.delete(name, expected, by);
  }
}

function isName(values: readonly unknown[]): values is [string] {
  return values.length === 1 && isPlanName(values[0]);
}
