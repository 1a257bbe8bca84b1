import type { Fault, Fields, SpecOf } from '#limiter';

/** A class of bodies or queries whose checks, defaults and OpenAPI schema follow from a table of fields. */
export interface TableDto<T extends object = object> {
  new (): T;
  readonly fields: Fields;
  /** What codes of faults begin with. */
  readonly code: string;
  /** A request without a body says the same as one with `{}`: nothing has to be said, and nothing is replaced by it. */
  readonly mayBeAbsent?: boolean;
  /** What must hold between fields that are right one by one: the faults of a value with every default filled in. */
  faultsOf?(value: T): readonly Fault[];
}

/** The base class of such a class: `class ExplainDto extends tableDto('explain', EXPLAIN_FIELDS) {}`. */
export function tableDto<const F extends Fields>(
  code: string,
  fields: F,
  faultsOf?: (value: SpecOf<F>) => readonly Fault[],
): TableDto<SpecOf<F>> {
  class Dto {
    static readonly fields = fields;
    static readonly code = code;
    static readonly faultsOf = faultsOf;
  }
  return Dto as unknown as TableDto<SpecOf<F>>;
}

export function isTableDto(type: unknown): type is TableDto {
  return typeof type === 'function' && 'fields' in type && 'code' in type;
}
