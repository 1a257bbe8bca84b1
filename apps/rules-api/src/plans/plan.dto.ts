import { ApiProperty } from '@nestjs/swagger';
import type { Labels } from '#limiter';
import type { PlanEntity } from '#rules-db';
import { changeDto } from '../http/change-dto.js';
import { VersionedView, versionedView } from '../http/versioned-view.js';
import { WRITTEN_PLAN_FIELDS } from './plan-fields.js';

/** A plan as an administrator writes it, or as the API has shown it. */
export class PlanDto extends changeDto('plan', WRITTEN_PLAN_FIELDS) {}

/** The document's name for a merge patch of a plan; its schema is made from that of PlanDto. */
export class PlanPatch {}

/** A plan as the API shows it. */
export class PlanView extends VersionedView {
  @ApiProperty({ type: String, example: 'pro' })
  name: string;

  @ApiProperty({ type: String, example: 'what every new merchant gets' })
  note: string;

  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' }, example: { team: 'sales' } })
  labels: Labels;
}

export class PlanPage {
  @ApiProperty({ type: [PlanView] })
  items: PlanView[];

  @ApiProperty({ type: String, nullable: true, description: 'The cursor of the next page, and null on the last page.' })
  nextCursor: string | null;
}

export function planView({ name, note, labels, ...stored }: PlanEntity): PlanView {
  return { name, note, labels, ...versionedView(stored) };
}
