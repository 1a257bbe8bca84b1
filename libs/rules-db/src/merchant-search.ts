/**
 * So many merchants are looked at in the order of the list before those that fit are looked up by an index. A filter that fits one merchant in a hundred
 * fills a page from these.
 */
const LOOKED_AT = 5_000;

/**
 * The ids of the first merchants that fit, as SQL: of many that fit, those at hand are enough; few are found by the indexes of the filter, all of them, and
 * sorted. PostgreSQL would choose between the two by itself, but as if those that fit were spread evenly over the list: where all are at its end, or
 * there are none, it would look at every merchant.
 *
 * @param conditions of columns of `merchant`; at least one
 * @param isAfter whether only merchants after `:after` are wanted. `:limit` is how many.
 */
export function idsThatFit(conditions: readonly string[], isAfter: boolean): string {
  const fits = conditions.join(' AND ');
  return `(
    WITH at_hand AS MATERIALIZED (
      SELECT id FROM (SELECT id, name, labels, plan FROM merchant ${isAfter ? 'WHERE id > :after' : ''} ORDER BY id LIMIT ${LOOKED_AT}) merchant
      WHERE ${fits} ORDER BY id LIMIT :limit
    )
    SELECT id FROM at_hand WHERE (SELECT count(*) FROM at_hand) = :limit
    UNION ALL
    (SELECT id FROM (
      SELECT id FROM merchant WHERE ${fits}${isAfter ? ' AND id > :after' : ''} AND (SELECT count(*) FROM at_hand) < :limit OFFSET 0
    ) every ORDER BY id LIMIT :limit))`;
}
