/**
 * So many merchants of each list in which some can be found in order are looked at, before those that fit are looked up by the indexes of the filter. A filter
 * that fits one merchant in a hundred fills a page from these.
 */
const LOOKED_AT = 5_000;

/** The letters of a name by which an index has merchants in the order of the list. */
const START = `left(lower(name), 3) COLLATE "C"`;
const START_LENGTH = 3;

export interface Search {
  /** Of columns of `merchant`, without that of the label. */
  readonly conditions: readonly string[];
  /** Whether only merchants after `:after` are wanted. */
  readonly isAfter: boolean;
  /** With what the name begins, if that is one of the conditions. `:start` is the same. */
  readonly namePrefix?: string | undefined;
  /** That it has a label, if that is wanted. The label is `:labelKey` with the value `:labelValue` as well. */
  readonly labelled?: string | undefined;
}

/**
 * The ids of the first merchants that fit, as SQL. Those that have a label stand in the order of the list in a table of their own. With more than one condition, of many
 * that fit, those at hand are enough; few are found by the indexes of the filter, all of them, and sorted. PostgreSQL would choose between the two by itself, but as
 * if those that fit were spread evenly over the list: where all are at its end, or there are none, it would look at every merchant. At hand are the first that have the
 * label, the first of those whose names begin with the same letters, or, if neither is searched, the first of the list. `:limit` is how many are wanted.
 */
export function idsThatFit(search: Search): string {
  const { conditions, isAfter, namePrefix, labelled } = search;
  if (labelled !== undefined && conditions.length === 0) return `(${labelledIds(isAfter)} LIMIT :limit)`;
  const fits = [...conditions, ...(labelled === undefined ? [] : [labelled])].join(' AND ');
  const ways = [
    ...(labelled === undefined ? [] : [firstLabelled(conditions.join(' AND '), isAfter)]),
    ...(startsLong(namePrefix) ? [firstOfStart(fits, isAfter)] : []),
  ];
  if (ways.length === 0) ways.push(firstOfList(fits, isAfter));
  const isShort = ways.map((_, i) => `(SELECT count(*) FROM at_hand_${i}) < :limit`);
  const steps = ways.map(
    (way, i) =>
      `at_hand_${i} AS MATERIALIZED (SELECT id FROM (${way}) way WHERE ${['true', ...isShort.slice(0, i)].join(' AND ')} LIMIT :limit)`,
  );
  const enough = ways.map((_, i) => `SELECT id FROM at_hand_${i} WHERE NOT ${isShort[i]}`);
  return `(
    WITH ${steps.join(', ')}
    ${enough.join(' UNION ALL ')}
    UNION ALL
    (SELECT id FROM (
      SELECT id FROM merchant WHERE ${fits}${isAfter ? ' AND id > :after' : ''} AND ${isShort.join(' AND ')} OFFSET 0
    ) every ORDER BY id LIMIT :limit))`;
}

/** The ids of all merchants with the label, in the order of the list. */
function labelledIds(isAfter: boolean): string {
  return (
    `SELECT merchant_id AS id FROM merchant_label WHERE key = :labelKey AND value = :labelValue` +
    `${isAfter ? ' AND merchant_id > :after' : ''} ORDER BY merchant_id`
  );
}

/** Each merchant is looked up by its id: PostgreSQL would rather walk through the list beside the label, which may begin at its end. */
function firstLabelled(fits: string, isAfter: boolean): string {
  return `
    SELECT labelled.id FROM (${labelledIds(isAfter)} LIMIT ${LOOKED_AT}) labelled,
      LATERAL (SELECT id FROM merchant WHERE merchant.id = labelled.id AND ${fits} OFFSET 0) merchant
    ORDER BY labelled.id`;
}

function startsLong(namePrefix: string | undefined): boolean {
  return namePrefix !== undefined && [...namePrefix].length >= START_LENGTH;
}

/** Compared as a row, because only the index has this order: for an equation PostgreSQL might walk through the list instead. */
function firstOfStart(fits: string, isAfter: boolean): string {
  const start = `left(lower(:start), ${START_LENGTH})`;
  const where = `WHERE (${START}, id) > (${start}, ${isAfter ? ':after' : `''`}) AND ${START} <= ${start} ORDER BY ${START}, id`;
  return firstThatFit(fits, where);
}

function firstOfList(fits: string, isAfter: boolean): string {
  return firstThatFit(fits, `${isAfter ? 'WHERE id > :after' : ''} ORDER BY id`);
}

function firstThatFit(fits: string, which: string): string {
  return `SELECT id FROM (SELECT id, name, labels, plan FROM merchant ${which} LIMIT ${LOOKED_AT}) merchant WHERE ${fits} ORDER BY id`;
}
