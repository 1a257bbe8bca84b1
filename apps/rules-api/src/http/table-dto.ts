import type { Fields, SpecOf } from '#limiter';

/** A class of bodies or queries whose checks, defaults and OpenAPI schema follow from a table of fields. */
export interface TableDto<T extends object = object> {
  new (): T;
  readonly fields: Fields;
  /** What codes of faults begin with. */
  readonly code: string;
}

/** The base class of such a class: `class RuleDto extends tableDto('rule', RULE_FIELDS) {}`. */
export function tableDto<const F extends Fields>(code: string, fields: F): TableDto<SpecOf<F>> {
  class Dto {
    static readonly fields = fields;
    static readonly code = code;
  }
  return Dto as unknown as TableDto<SpecOf<F>>;
}

export function isTableDto(type: unknown): type is TableDto {
  return typeof type === 'function' && 'fields' in type && 'code' in type;
}
