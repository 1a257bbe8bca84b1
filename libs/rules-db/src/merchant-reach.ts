/** A label as it stands in the table of labels. */
export interface MerchantLabel {
  readonly key: string;
  readonly value: string;
}

/** Which merchants count: those of a list, those that have a label, or, with null, all. */
export type MerchantReach = readonly string[] | MerchantLabel | null;

/** The condition that a column with ids of merchants is within reach, with its parameters; nothing if all are. */
export function withinReach(column: string, reach: MerchantReach | undefined): { condition: string; parameters: object } | undefined {
  if (reach === null || reach === undefined) return undefined;
  if (!('key' in reach)) return { condition: `${column} = ANY(:among)`, parameters: { among: reach } };
  const labelled = 'SELECT reached.merchant_id FROM merchant_label reached WHERE reached.key = :reachKey AND reached.value = :reachValue';
  return { condition: `${column} IN (${labelled})`, parameters: { reachKey: reach.key, reachValue: reach.value } };
}
