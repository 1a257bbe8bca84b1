/**
 * So many merchants are looked at in the order of the list before those that fit are looked up by an index. A filter that fits one merchant in a hundred
 * fills a page from these.
 */
const LOOKED_AT = 5_000;

/** The letters of a name by which an index has merchants in the order of the list. */
const START = `left(lower(name), 3) COLLATE "C"`;
const START_LENGTH = 3;

export interface Search {
  /** Of columns of `merchant`; at least one. */
  readonly conditions: readonly string[];
  /** Whether only merchants after `:after` are wanted. */
  readonly isAfter: boolean;
  /** With what the name begins, if that is one of the conditions. `:start` is the same. */
  readonly namePrefix?: string | undefined;
}

/**
 * The ids of the first merchants that fit, as SQL: of many that fit, those at hand are enough; few are found by the indexes of the filter, all of them, and
 * sorted. PostgreSQL would choose between the two by itself, but as if those that fit were spread evenly over the list: where all are at its end, or
 * there are none, it would look at every merchant. At hand are the first of the list, or, if a name is searched, the first of those whose names begin with
 * the same letters. `:limit` is how many are wanted.
 */
export function idsThatFit({ conditions, isAfter, namePrefix }: Search): string {
  const fits = conditions.join(' AND ');
  const first = startsLong(namePrefix) ? firstOfStart(isAfter) : `${isAfter ? 'WHERE id > :after' : ''} ORDER BY id`;
  return `(
    WITH at_hand AS MATERIALIZED (
      SELECT id FROM (SELECT id, name, labels, plan FROM merchant ${first} LIMIT ${LOOKED_AT}) merchant
      WHERE ${fits} ORDER BY id LIMIT :limit
    )
    SELECT id FROM at_hand WHERE (SELECT count(*) FROM at_hand) = :limit
    UNION ALL
    (SELECT id FROM (
      SELECT id FROM merchant WHERE ${fits}${isAfter ? ' AND id > :after' : ''} AND (SELECT count(*) FROM at_hand) < :limit OFFSET 0
    ) every ORDER BY id LIMIT :limit))`;
}

function startsLong(namePrefix: string | undefined): boolean {
  return namePrefix !== undefined && [...namePrefix].length >= START_LENGTH;
}

/** Compared as a row, because only the index has this order: for an equation PostgreSQL might walk through the list instead. */
function firstOfStart(isAfter: boolean): string {
  const start = `left(lower(:start), ${START_LENGTH})`;
  return `WHERE (${START}, id) > (${start}, ${isAfter ? ':after' : `''`}) AND ${START} <= ${start} ORDER BY ${START}, id`;
}
