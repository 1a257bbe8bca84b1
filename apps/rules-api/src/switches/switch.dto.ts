import { ApiProperty } from '@nestjs/swagger';
import {
  type CustomField,
  type Fields,
  MOMENT,
  MOST_SWITCHES,
  objectSchema,
  SWITCH_FIELDS,
  SWITCH_NAMES,
  type SwitchName,
  valueFaults,
} from '#limiter';
import type { StoredSwitch } from '#rules-db';
import { changeDto } from '../http/change-dto.js';
import { IGNORED, READ_FIELDS } from '../http/read-fields.js';
import { SwitchScopeView } from './switch-scope-view.js';

const ANY_TEXT = { expected: 'must be a text', fault: () => undefined, schema: {} };

/** A scope for which a switch is on, as a GET shows it. */
const SCOPE_FIELDS = {
  layer: SWITCH_FIELDS.layer,
  merchantId: SWITCH_FIELDS.merchantId,
  until: SWITCH_FIELDS.until,
  reason: { ...SWITCH_FIELDS.reason, nullable: true },
  by: { kind: 'text', format: ANY_TEXT, example: 'admin', explanation: IGNORED },
  since: { kind: 'text', format: MOMENT, example: '2026-11-22T10:00:00.000Z', explanation: IGNORED },
} as const satisfies Fields;

const SCOPES = {
  kind: 'list',
  of: { kind: 'object', fields: SCOPE_FIELDS, explanation: 'A scope.' },
  min: 0,
  max: MOST_SWITCHES,
  explanation: 'All scopes for which it is on from now on.',
} as const;

/** As somebody writes a scope; left out is null. */
export interface WrittenScope {
  readonly layer?: string | null | undefined;
  readonly merchantId?: string | null | undefined;
  readonly until?: string | null;
  readonly reason?: string | null;
}

const ON = {
  kind: 'custom',
  required: true,
  check: (value, place) => (Array.isArray(value) ? valueFaults(value, SCOPES, place) : valueFaults(value, SWITCH_FIELDS.on, place)),
  schema: { anyOf: [{ type: 'boolean' }, { type: 'array', maxItems: MOST_SWITCHES, items: objectSchema(SCOPE_FIELDS) }] },
  example: true,
  explanation:
    'Whether it is on from now on, for the layer and the merchant beside it; to switch off, name the same. Or the whole list, as GET shows it: it is on for these scopes and for no others, ' +
    'and what stands there unchanged stays as it is.',
} as const satisfies CustomField as unknown as CustomField<boolean | readonly WrittenScope[]> & { readonly required: true };

/** The path says which switch is meant. */
const NAME = { kind: 'text', format: ANY_TEXT, example: 'kill', explanation: IGNORED } as const;

export class SwitchDto extends changeDto('switch', { ...SWITCH_FIELDS, on: ON, name: NAME, version: READ_FIELDS.version }) {}

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

  @ApiProperty({ type: 'integer', minimum: 1, example: 1, description: 'Counts the changes. In double quotes it is the ETag.' })
  version: number;
}

export function switchView(name: SwitchName, { on, version }: StoredSwitch): SwitchView {
  return {
    name,
    version,
    on: on.map(({ layer, merchantId, until, reason, actor, at }) => ({
      layer,
      merchantId,
      until: until?.toISOString() ?? null,
      reason,
      by: actor,
      since: at.toISOString(),
    })),
  };
}
