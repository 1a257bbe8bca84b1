import type { CustomField, Fault, Fields, ListField, Place, WholeNumberField } from '../fields/field.js';
import { fault, faultOf, valueFaults } from '../fields/field-faults.js';
import { NamedRoutes } from './named-routes.js';
import { shown } from '../fields/shown.js';
import { objectSchema } from '../fields/table-schema.js';
import { HTTP_METHOD, line, PATH_PATTERN } from '../fields/text-formats.js';

/** A share of every bucket of a rule that is kept for some routes. */
export interface ReservedShare {
  readonly name: string;
  readonly methods?: readonly string[];
  readonly paths?: readonly string[];
  readonly percent: number;
}

/** Something is left for all others. */
const MOST_PERCENT = 99;
const MOST_SHARES = 8;

const PERCENT = {
  kind: 'whole_number',
  min: 1,
  max: MOST_PERCENT,
  unit: 'percent',
  required: true,
  example: 20,
  explanation: `The share of each limit that is kept, rounded up to whole tokens. All shares of a rule together are at most ${MOST_PERCENT}.`,
} as const satisfies WholeNumberField;

const SHARE_FIELDS = {
  name: {
    kind: 'text',
    format: line(64),
    required: true,
    example: 'captures',
    explanation: 'Names the routes. It is different from the names of the other shares of the rule.',
  },
  methods: {
    kind: 'list',
    of: { kind: 'text', format: HTTP_METHOD, explanation: 'An HTTP method in capitals.' },
    min: 0,
    max: 16,
    example: ['POST'],
    explanation: 'Their methods, as in match. Any method but OPTIONS unless it is given. Either these or paths are required.',
  },
  paths: {
    kind: 'list',
    of: { kind: 'text', format: PATH_PATTERN, explanation: 'A path pattern.' },
    min: 0,
    max: 32,
    example: ['/transactions/*/capture'],
    explanation: 'Their paths, as in match. Any path unless they are given.',
  },
  percent: PERCENT,
} as const satisfies Fields;

const SHARES: ListField = {
  kind: 'list',
  of: { kind: 'object', fields: SHARE_FIELDS, explanation: 'A share.' },
  min: 0,
  max: MOST_SHARES,
  explanation: '',
};

export const RESERVE: CustomField<readonly ReservedShare[] | null> = {
  kind: 'custom',
  check(value, place) {
    if (value === null) return [];
    const faults = valueFaults(value, SHARES, place);
    return faults.length > 0 ? faults : sharesFaults(value as readonly ReservedShare[], place);
  },
  schema: {
    type: ['array', 'null'],
    items: {
      ...objectSchema(SHARE_FIELDS),
      anyOf: ['paths', 'methods'].map((field) => ({ required: [field], properties: { [field]: { minItems: 1 } } })),
    },
    maxItems: MOST_SHARES,
  },
  example: [{ name: 'captures', methods: ['POST'], paths: ['/transactions/*/capture'], percent: 20 }],
  explanation:
    'Shares of every bucket of the rule that are kept for some of its routes. A request on none of them is refused when no more than all shares together is left; one on any of them is refused when nothing is left. ' +
    'Null, like an empty list, keeps nothing.',
};

/** What is wrong with shares that are right one by one. */
function sharesFaults(shares: readonly ReservedShare[], place: Place): Fault[] {
  const names = shares.map(({ name }) => name);
  return shares.flatMap(({ name, methods, paths, percent }, i) => {
    const at = (field: string): Place => ({ pointer: `${place.pointer}/${i}/${field}`, code: `${place.code}.${field}` });
    const before = percentOf(shares.slice(0, i));
    return [
      ...(isEmpty(methods) && isEmpty(paths)
        ? [faultOf(at('paths'), 'missing', 'must name routes, or methods must: every request would be on a share without both')]
        : []),
      ...(names.indexOf(name) < i
        ? [faultOf(at('name'), 'repeated', `must differ from the names of the other shares, got ${shown(name)} again`)]
        : []),
      ...(before <= MOST_PERCENT && before + percent > MOST_PERCENT
        ? [
            fault(
              at('percent'),
              'out_of_range',
              `must leave something for others: all shares together are at most ${MOST_PERCENT}`,
              percent,
            ),
          ]
        : []),
    ];
  });
}

const isEmpty = (list: readonly string[] | undefined): boolean => list === undefined || list.length === 0;

function percentOf(shares: readonly ReservedShare[]): number {
  return shares.reduce((sum, { percent }) => sum + percent, 0);
}

/** What a rule keeps for some of its routes, made ready. */
export interface Reserve {
  /** Of every bucket: what all shares have together. */
  readonly percent: number;
  /** All of them: one number in a bucket cannot say whose share is left. */
  readonly routes: NamedRoutes;
}

/** Undefined where nothing is kept. */
export function reserveOf(shares: readonly ReservedShare[] | null | undefined): Reserve | undefined {
  if (!shares || shares.length === 0) return undefined;
  return { percent: percentOf(shares), routes: new NamedRoutes(shares.map(({ methods = [], paths = [] }) => ({ methods, paths }))) };
}
