import type { Fault, Fields, SpecOf } from '#limiter';
import { CHANGE_REASON_FIELDS } from './change-reason.js';
import { tableDto, type TableDto } from './table-dto.js';

/** `tableDto` for the body of a change, which may say why: `class RuleDto extends changeDto('rule', RULE_FIELDS) {}`. CurrentActor has read the reason. */
export function changeDto<const F extends Fields>(
  code: string,
  fields: F,
  faultsOf?: (value: SpecOf<F>) => readonly Fault[],
): TableDto<SpecOf<F> & { readonly reason?: string }> {
  const withReason: Fields = { ...CHANGE_REASON_FIELDS, ...fields };
  return tableDto(code, withReason, faultsOf as (value: object) => readonly Fault[]) as unknown as TableDto<
    SpecOf<F> & { readonly reason?: string }
  >;
}
