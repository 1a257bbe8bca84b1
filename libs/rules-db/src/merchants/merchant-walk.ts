import pg from 'pg';
import type { DataSource } from 'typeorm';
import type { MerchantSnapshot, StoredRules } from '#limiter';
import { copiedField } from '../connection/copy-out.js';
import type { DeadlineClient } from '../connection/deadline-client.js';
import { merchantIn, type MerchantRow, rulesIn, type UnreadableMerchant } from './merchant-in-rows.js';
import { overridesOfMany } from '../rules/override-column.js';
import { RULE_COLUMNS, type RuleRow } from '../rules/rule-columns.js';

/** Columns of the merchant, which stand before those of the rule. */
const MERCHANT_COLUMNS = ['merchant_id', 'rules_version', 'time_zone', 'plan', 'overrides'] as const;
const NULL = '\\N';

interface Column {
  readonly name: string;
  readonly parse: (text: string) => unknown;
}

/** A rule of a merchant in the walk: its id, and its other columns as PostgreSQL copies them. */
export interface CopiedRule {
  readonly id: string;
  readonly columns: string;
}

/** A merchant with its enabled rules as PostgreSQL copies them. To parse them takes far more time than to read them, so it is left to those who need it. */
export class MerchantRows {
  readonly merchantId: string;
  readonly rules: CopiedRule[] = [];

  /** @param fields of the merchant, as they are copied */
  constructor(
    private readonly fields: readonly string[],
    private readonly columns: readonly Column[],
  ) {
    this.merchantId = copiedField(fields[0]!)!;
  }

  /** The column, of digits if it is a good one. */
  get version(): string {
    return this.fields[1]!;
  }

  /** Everything of the merchant but its id, version and rules, as a text that is the same for merchants that have the same; undefined if it has overrides. */
  get others(): string | undefined {
    return this.fields[4] === NULL ? `${this.fields[2]}\t${this.fields[3]}` : undefined;
  }

  parsed(): MerchantSnapshot | UnreadableMerchant {
    return this.withRules(this.rules);
  }

  parsedWithoutRules(): MerchantSnapshot | UnreadableMerchant {
    return this.withRules([]);
  }

  /** A rule as it would be if it were the only one of the merchant. @throws UnreadableError */
  parsedRule(rule: CopiedRule): StoredRules {
    return rulesIn([this.ruleRow(rule)]);
  }

  private withRules(rules: readonly CopiedRule[]): MerchantSnapshot | UnreadableMerchant {
    const merchant = this.columns.slice(0, MERCHANT_COLUMNS.length).map(({ name, parse }, i) => [name, parsed(this.fields[i]!, parse)]);
    const own = { ...Object.fromEntries(merchant), exists: true, rule_id: null } as MerchantRow;
    return merchantIn(rules.length === 0 ? [own] : rules.map((rule) => ({ ...own, ...this.ruleRow(rule) })))!;
  }

  private ruleRow({ id, columns }: CopiedRule): RuleRow {
    const fields = [id, ...columns.split('\t')];
    const ofRule = this.columns.slice(MERCHANT_COLUMNS.length);
    return Object.fromEntries(ofRule.map(({ name, parse }, i) => [name, parsed(fields[i]!, parse)])) as unknown as RuleRow;
  }
}

function parsed(copied: string, parse: Column['parse']): unknown {
  const text = copiedField(copied);
  return text === null ? null : parse(text);
}

/** Reads merchants one after the other, in chunks, for those who want all of them. Each chunk is one statement: what it says of a merchant belongs together. */
export class MerchantWalk {
  private columns: readonly Column[] | undefined;

  constructor(private readonly dataSource: DataSource) {}

  /** @param make is given each merchant as soon as all of its lines are there: they are many, and what is made of them is less */
  async after<T>(merchantId: string | null, count: number, make: (merchant: MerchantRows) => T): Promise<T[]> {
    const runner = this.dataSource.createQueryRunner();
    try {
      const client = (await runner.connect()) as DeadlineClient;
      this.columns ??= await columnsOf(client);
      const lines = new Lines(this.columns, make);
      await client.copyOut(`COPY (${statement(merchantId, count)}) TO STDOUT`, (line) => lines.add(line));
      return lines.end();
    } finally {
      await runner.release();
    }
  }
}

/** The lines of each merchant follow each other. */
class Lines<T> {
  private readonly made: T[] = [];
  private merchant: MerchantRows | undefined;
  private id = '';
  /** What make has thrown: nothing may be thrown into the driver, which is in the middle of the answer. */
  private failure: { readonly error: unknown } | undefined;

  constructor(
    private readonly columns: readonly Column[],
    private readonly make: (merchant: MerchantRows) => T,
  ) {}

  add(line: string): void {
    let at = 0;
    const next = (): string => {
      const start = at;
      const end = line.indexOf('\t', start);
      at = end + 1;
      return line.slice(start, end);
    };
    const id = next();
    const fields = [id, next(), next(), next(), next()];
    if (this.merchant === undefined || this.id !== id) {
      this.complete();
      this.merchant = new MerchantRows(fields, this.columns);
      this.id = id;
    }
    const ruleId = next();
    if (ruleId !== NULL) this.merchant.rules.push({ id: ruleId, columns: line.slice(at) });
  }

  end(): T[] {
    this.complete();
    if (this.failure !== undefined) throw this.failure.error;
    return this.made;
  }

  private complete(): void {
    if (this.merchant === undefined || this.failure !== undefined) return;
    try {
      this.made.push(this.make(this.merchant));
    } catch (error) {
      this.failure = { error };
    }
  }
}

/**
 * COPY takes no parameters. Rules are read as one range of their index, in the order of the merchants: the bound below says so also for the first chunk, for which PostgreSQL would rather read
 * all rules there are.
 */
function statement(afterMerchantId: string | null, count: number): string {
  const after = pg.escapeLiteral(afterMerchantId ?? '');
  const inChunk = (column: string): string => `${column} > ${after} AND ${column} <= (SELECT max(merchant_id) FROM m)`;
  return `
    WITH m AS MATERIALIZED (
      SELECT id AS merchant_id, rules_version, time_zone, plan FROM merchant WHERE id > ${after} ORDER BY id LIMIT ${Math.trunc(count)}
    ), overridden AS (${overridesOfMany(inChunk('o.merchant_id'))})
    SELECT m.merchant_id, m.rules_version, m.time_zone, m.plan, overridden.overrides, ${RULE_COLUMNS}
    FROM m LEFT JOIN rule r ON r.merchant_id = m.merchant_id AND r.enabled AND ${inChunk('r.merchant_id')}
      LEFT JOIN overridden ON overridden.merchant_id = m.merchant_id
    ORDER BY m.merchant_id`;
}

/** The columns of the statement, and how the driver parses those of their types. */
async function columnsOf(client: pg.ClientBase): Promise<readonly Column[]> {
  const { fields } = await client.query(statement(null, 0));
  return fields.map(({ name, dataTypeID }) => ({ name, parse: pg.types.getTypeParser(dataTypeID, 'text') as Column['parse'] }));
}
