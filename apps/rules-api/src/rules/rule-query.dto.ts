import { ApiPropertyOptional } from '@nestjs/swagger';
import { ALGORITHM_NAMES, type Fields, pathMatcher, pathSegments } from '#limiter';
import type { RuleEntity } from '#rules-db';
import { labelIn, LABEL_FILTER } from '../pagination/label-filter.js';
import { PageQueryDto } from '../pagination/page-query.dto.js';

const MAX_PATH_LENGTH = 2_048;
const PATH_EXPECTED = `must be a path like /transactions/17, of at most ${MAX_PATH_LENGTH} characters, or a path pattern`;

const FILTERS = {
  path: {
    kind: 'text',
    format: {
      expected: PATH_EXPECTED,
      fault: (text) => (text.startsWith('/') && text.length <= MAX_PATH_LENGTH ? undefined : PATH_EXPECTED),
      schema: { minLength: 1, maxLength: MAX_PATH_LENGTH },
    },
    explanation: 'Only rules that match requests to this path. A path pattern finds the rules that have it, and wider ones.',
  },
  label: LABEL_FILTER,
  algorithm: { kind: 'choice', values: ALGORITHM_NAMES, explanation: 'Only rules with a limit of this algorithm.' },
  enabled: { kind: 'choice', values: ['true', 'false'], explanation: 'Only rules that are enabled, or only those that are not.' },
} as const satisfies Fields;

/** The names of the filters in a query. */
export const RULE_FILTERS = Object.keys(FILTERS);

type RuleFilterName = keyof typeof FILTERS;

/** The query of a list of rules. */
export class RuleQueryDto extends PageQueryDto {
  static override readonly fields = { ...PageQueryDto.fields, ...FILTERS };

  @ApiPropertyOptional({ type: String, ...FILTERS.path.format.schema, description: FILTERS.path.explanation })
  path?: string;

  @ApiPropertyOptional({ type: String, ...LABEL_FILTER.format.schema, description: LABEL_FILTER.explanation })
  label?: string;

  @ApiPropertyOptional({ enum: ALGORITHM_NAMES, description: FILTERS.algorithm.explanation })
  algorithm?: string;

  @ApiPropertyOptional({ enum: FILTERS.enabled.values, description: FILTERS.enabled.explanation })
  enabled?: string;
}

type Holds = (rule: RuleEntity) => boolean;

const HOLDS: Readonly<Record<RuleFilterName, (wanted: string) => Holds>> = {
  path: (wanted) => {
    const segments = pathSegments(wanted);
    return ({ match: { paths } }) => paths.length === 0 || paths.some((pattern) => pathMatcher(pattern)(segments));
  },
  label: (wanted) => {
    const { key, value } = labelIn(wanted);
    return ({ labels }) => Object.hasOwn(labels, key) && labels[key] === value;
  },
  algorithm:
    (wanted) =>
    ({ limits }) =>
      limits.some(({ algorithm }) => algorithm === wanted),
  enabled:
    (wanted) =>
    ({ enabled }) =>
      String(enabled) === wanted,
};

/** Whether a rule passes all filters of a query; nothing if there are none. */
export function ruleFilter(query: Readonly<Record<RuleFilterName, string | undefined>>): Holds | undefined {
  const filters = RULE_FILTERS.flatMap((name) => {
    const wanted = query[name as RuleFilterName];
    return wanted === undefined ? [] : [HOLDS[name as RuleFilterName](wanted)];
  });
  return filters.length === 0 ? undefined : (rule) => filters.every((holds) => holds(rule));
}
