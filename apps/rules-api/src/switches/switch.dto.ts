import { ApiProperty } from '@nestjs/swagger';
import { SWITCH_FIELDS, SWITCH_NAMES, type SwitchName } from '#limiter';
import type { SwitchEntity } from '#rules-db';
import { tableDto } from '../http/table-dto.js';
import { SwitchScopeView } from './switch-scope-view.js';

export class SwitchDto extends tableDto('switch', SWITCH_FIELDS) {}

/** What is switched on for one layer or all, of one merchant or all. */
export class SwitchedOnView extends SwitchScopeView {
  @ApiProperty({ type: String, nullable: true, example: 'a release limits everybody, ticket OPS-17' })
  reason: string | null;

  @ApiProperty({ type: String, example: 'admin', description: 'The actor that switched it on' })
  by: string;

  @ApiProperty({ type: String, format: 'date-time' })
  since: string;
}

export class SwitchView {
  @ApiProperty({ enum: SWITCH_NAMES, description: 'kill: requests in its scope are not limited; shadow: they are counted and not refused' })
  name: SwitchName;

  @ApiProperty({ type: [SwitchedOnView], description: 'The scopes for which the switch is on; if there are none, it is off' })
  on: SwitchedOnView[];
}

export function switchView(name: SwitchName, rows: readonly SwitchEntity[]): SwitchView {
  return {
    name,
    on: rows.map(({ layer, merchantId, until, reason, actor, at }) => ({
      layer,
      merchantId,
      until: until?.toISOString() ?? null,
      reason,
      by: actor,
      since: at.toISOString(),
    })),
  };
}
