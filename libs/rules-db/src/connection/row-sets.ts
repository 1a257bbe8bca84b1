import type { EntityManager, EntityTarget, ObjectLiteral, ValueTransformer } from 'typeorm';
import { handOver } from './hand-over.js';

/** Rows of one statement: each statement is to end well within the time-out of statements. */
export const ROWS_AT_ONCE = 500;

/** Properties of an entity and their values; every row names the same ones. */
type Row<T> = Readonly<Partial<T>>;

interface Column {
  readonly property: string;
  /** The name of the column, in double quotes. */
  readonly name: string;
  /** The name of the property, as the JSON of the rows has it, in double quotes. */
  readonly given: string;
  readonly type: string;
  /** How values become those of the column, one after the other. */
  readonly transformers: readonly ValueTransformer[];
}

/**
 * Inserts many rows in their order. All rows of a statement travel as one parameter of JSON: that is one plan whatever their number, and a tenth of
 * what TypeORM takes for them.
 * @returns the properties `returning` of the new rows, in any order
 */
export async function insertRows<T extends ObjectLiteral, R extends keyof T & string = never>(
  manager: EntityManager,
  entity: EntityTarget<T>,
  rows: readonly Row<T>[],
  returning: readonly R[] = [],
): Promise<Pick<T, R>[]> {
  const [first] = rows;
  if (first === undefined) return [];
  const columns = columnsOf(manager, entity, Object.keys(first));
  const statement = insertion(manager, entity, columns) + returningOf(columnsOf(manager, entity, returning));
  const returned: Pick<T, R>[] = [];
  for (const some of chunksOf(rows, ROWS_AT_ONCE)) {
    returned.push(...((await manager.query(statement, [inJson(some, columns)])) as Pick<T, R>[]));
  }
  return returned;
}

/**
 * Inserts rows that are JSON already: texts of arrays of at most ROWS_AT_ONCE rows, which name these properties as the columns have their values. A text is made
 * while the one before it is written.
 */
export async function insertTexts<T extends ObjectLiteral>(
  manager: EntityManager,
  entity: EntityTarget<T>,
  properties: readonly (keyof T & string)[],
  texts: Iterable<string>,
): Promise<void> {
  const statement = insertion(manager, entity, columnsOf(manager, entity, properties));
  await handOver(texts, (text) => manager.query(statement, [text]));
}

function insertion(manager: EntityManager, entity: EntityTarget<ObjectLiteral>, columns: readonly Column[]): string {
  return (
    `INSERT INTO ${tableOf(manager, entity)} (${columns.map(({ name }) => name).join(', ')}) ` +
    `SELECT ${columns.map(({ given }) => given).join(', ')} FROM ROWS FROM (jsonb_to_recordset($1) AS (${typed(columns)})) WITH ORDINALITY ORDER BY ordinality`
  );
}

interface UpdateOptions<T, R extends keyof T> {
  /** The properties that say which row it is. */
  readonly keys: readonly (keyof T & string)[];
  /** The property that is raised by one: a row that has another value than that is not updated. */
  readonly raises?: keyof T & string;
  readonly returning: readonly R[];
}

/** Updates many rows, each to values of its own, and returns the properties `returning` of those that were found, in any order. */
export async function updateRows<T extends ObjectLiteral, R extends keyof T & string>(
  manager: EntityManager,
  entity: EntityTarget<T>,
  rows: readonly Row<T>[],
  { keys, raises, returning }: UpdateOptions<T, R>,
): Promise<Pick<T, R>[]> {
  const [first] = rows;
  if (first === undefined) return [];
  const columns = columnsOf(manager, entity, Object.keys(first));
  const updatedAt = manager.connection.getMetadata(entity).updateDateColumn;
  const isKey = ({ property }: Column): boolean => (keys as readonly string[]).includes(property);
  const changes = columns.filter((column) => !isKey(column)).map(({ name, given }) => `${name} = given.${given}`);
  if (updatedAt) changes.push(`"${updatedAt.databaseName}" = now()`);
  const same = columns.filter(isKey).map(({ name, given }) => `stored.${name} = given.${given}`);
  if (raises !== undefined)
    same.push(...columnsOf(manager, entity, [raises]).map(({ name, given }) => `stored.${name} = given.${given} - 1`));
  const statement =
    `UPDATE ${tableOf(manager, entity)} stored SET ${changes.join(', ')} ` +
    `FROM jsonb_to_recordset($1) AS given(${typed(columns)}) WHERE ${same.join(' AND ')}` +
    returningOf(columnsOf(manager, entity, returning), 'stored.');
  const returned: Pick<T, R>[] = [];
  for (const some of chunksOf(rows, ROWS_AT_ONCE)) {
    const [updated] = (await manager.query(statement, [inJson(some, columns)])) as [Pick<T, R>[], number];
    returned.push(...updated);
  }
  return returned;
}

/** The items in lists of at most `size`. */
export function chunksOf<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}

function columnsOf(manager: EntityManager, entity: EntityTarget<ObjectLiteral>, properties: readonly string[]): Column[] {
  const { connection } = manager;
  const metadata = connection.getMetadata(entity);
  return properties.map((property) => {
    const column = metadata.findColumnWithPropertyName(property);
    if (!column) throw new Error(`${metadata.tableName} has no column for ${property}`);
    return {
      property,
      given: `"${property}"`,
      name: `"${column.databaseName}"`,
      type: connection.driver.normalizeType(column),
      transformers: [column.transformer ?? []].flat(),
    };
  });
}

function tableOf({ connection }: EntityManager, entity: EntityTarget<ObjectLiteral>): string {
  return `"${connection.getMetadata(entity).tableName}"`;
}

const typed = (columns: readonly Column[]): string => columns.map(({ given, type }) => `${given} ${type}`).join(', ');

const returningOf = (columns: readonly Column[], table = ''): string =>
  columns.length === 0 ? '' : ` RETURNING ${columns.map(({ name, property }) => `${table}${name} AS "${property}"`).join(', ')}`;

/** The rows as columns have their values. JSON.stringify leaves out what is undefined, and a column that is left out is null. */
function inJson(rows: readonly Readonly<Record<string, unknown>>[], columns: readonly Column[]): string {
  const transformed = columns.filter(({ transformers }) => transformers.length > 0);
  return JSON.stringify(rows.map((row) => transformedRow(row, transformed)));
}

/** Most values are in the column what they are in the entity: only a row with others is copied. */
function transformedRow(row: Readonly<Record<string, unknown>>, columns: readonly Column[]): Readonly<Record<string, unknown>> {
  let copy: Record<string, unknown> | undefined;
  for (const { property, transformers } of columns) {
    const value = row[property];
    const inColumn = transformers.reduce<unknown>((each, transformer) => transformer.to(each) as unknown, value);
    if (inColumn === value) continue;
    copy ??= { ...row };
    copy[property] = inColumn;
  }
  return copy ?? row;
}
