import type { Fault } from '../fields/field.js';
import { capacityOf, excessOf } from '../limits/limit.js';
import { reserveOf } from '../rules/reserve.js';
import type { RuleSpec } from '../rules/rule.js';
import { shown } from '../fields/shown.js';
import { withheldOf } from '../matching/withheld.js';
import { foreignSyntaxIn } from './foreign-path-syntax.js';
import { unknownMethod } from './http-methods.js';

/** The last parts of codes that only writing has: see FAULT_REASONS. */
export const WRITING_REASONS = {
  never_matches: 'The text is written in the language of another router, or as a regular expression, and no request ever matches it.',
  exceeds_capacity:
    'A request costs more than a limit of the rule ever holds, so none would pass; or more than it holds beside what is reserved, so that none would pass but those for which that is.',
  lacks_user: 'The layer is user, and the key names nothing that tells users apart.',
} as const;

/**
 * What would do harm if it were written, although each field is right by itself: a rule that can never match, or that lets nothing pass by mistake. Asked only
 * when a rule is written. A stored rule of a former version may have any of it, and is enforced as it always was.
 *
 * @param spec without faults of fields
 */
export function writingFaults(spec: RuleSpec): Fault[] {
  const routes = routesIn(spec);
  return [...routes.flatMap(methodFaults), ...routes.flatMap(pathFaults), ...costFaults(spec), ...userFaults(spec)];
}

/** Methods and paths, and where they stand in the rule. */
interface WrittenRoute {
  readonly methods: readonly string[];
  readonly paths: readonly string[];
  readonly pointer: string;
  /** What codes begin with. */
  readonly code: string;
}

function routesIn({ match, reserve }: RuleSpec): WrittenRoute[] {
  const shares = (reserve ?? []).map(({ methods = [], paths = [] }, i) => ({
    methods,
    paths,
    pointer: `/reserve/${i}`,
    code: 'rule.reserve',
  }));
  return [{ ...match, pointer: '/match', code: 'rule.match' }, ...shares];
}

function methodFaults({ methods, pointer, code }: WrittenRoute): Fault[] {
  return methods.flatMap((method, i) => {
    const expected = unknownMethod(method);
    return expected === undefined
      ? []
      : [{ pointer: `${pointer}/methods/${i}`, code: `${code}.methods.not_one_of`, detail: `${expected}, got ${shown(method)}` }];
  });
}

function pathFaults({ paths, pointer, code }: WrittenRoute): Fault[] {
  return paths.flatMap((path, i) => {
    const foreign = foreignSyntaxIn(path);
    if (foreign === undefined) return [];
    const { segment, instead } = foreign;
    const detail =
      `is no pattern that a path ever matches, because of ${shown(segment)}: write * for anything within a segment and ** for any number of segments` +
      `${instead === undefined ? '' : `, like ${shown(instead)}`}; a character that is really meant is written percent-encoded`;
    return [{ pointer: `${pointer}/paths/${i}`, code: `${code}.paths.never_matches`, detail }];
  });
}

/** A limit of 0 is one that lets nothing pass on purpose. A cost that a request brings is not known here. */
function costFaults({ cost, limits, reserve }: RuleSpec): Fault[] {
  const tokens: unknown = cost;
  if (typeof tokens !== 'number') return [];
  const percent = reserveOf(reserve)?.percent ?? 0;
  const holds = limits.map((limit) => ({ name: limit.name, kept: withheldOf(limit, percent), most: capacityOf(limit) + excessOf(limit) }));
  const small = holds.filter(({ most, kept }) => most > 0 && most - kept < tokens).sort((a, b) => a.most - a.kept - b.most + b.kept)[0];
  if (small === undefined) return [];
  const { most, kept } = small;
  const detail =
    most < tokens
      ? `must be at most ${most}, what the limit ${shown(small.name)} holds, or no request ever passes; got ${tokens}`
      : `must be at most ${most - kept}, what the limit ${shown(small.name)} holds beside the ${kept} that are reserved, or no request passes but those for which they are; got ${tokens}`;
  return [{ pointer: '/cost', code: 'rule.cost.exceeds_capacity', detail }];
}

/** Fields that are the same for all users of a merchant. */
const NO_USER = /^(?:merchant|ip(?:\..*)?|country|method|path|host)$/;

/** In the layer of users a key that does not tell users apart makes all of them share a bucket, and one of them exhausts it for the others. */
export function userFaults({ layer, key }: Pick<RuleSpec, 'layer' | 'key'>): Fault[] {
  if (layer !== 'user' || !key.every((part) => NO_USER.test(part))) return [];
  const detail = `must name what tells users apart in the layer user, like "user", or all users share one bucket; got ${shown(key)}`;
  return [{ pointer: '/key', code: 'rule.key.lacks_user', detail }];
}
