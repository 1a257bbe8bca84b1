import type { DataSource, EntityMetadata } from 'typeorm';
import { MOST_SWITCHES, type RuleOverrides, storedSwitches, type Switch } from '#limiter';
import { overridesIn, overridesOf } from './override-column.js';
import { MAX_RULES_PER_OWNER } from './rule-edits.js';
import { askPrepared, type PreparedStatement } from '../connection/prepared.js';
import { RuleEntity } from './rule.entity.js';

/** Everything by which the requests of a merchant are decided. The rules are those with the highest priority first, disabled ones included. */
export interface ApplicableRules {
  readonly timeZone: string;
  readonly own: readonly RuleEntity[];
  /** Undefined for a merchant without a plan. */
  readonly ofPlan: readonly RuleEntity[] | undefined;
  readonly defaults: readonly RuleEntity[];
  readonly overrides: readonly RuleOverrides[];
  /** All of them, also those that concern others or have ended. */
  readonly switches: readonly Switch[];
}

const rulesWhere = (condition: string): string => `(SELECT * FROM rule WHERE ${condition} ORDER BY priority DESC, id LIMIT $2)`;

const SWITCHES = `(
  SELECT jsonb_agg(jsonb_build_object(
    'name', s.name, 'layer', s.layer, 'merchantId', s.merchant_id, 'untilMs', floor(extract(epoch FROM s.until_at) * 1000)::bigint) ORDER BY s.id)
  FROM (SELECT * FROM switch ORDER BY id LIMIT $3) s) AS switches`;

/** A row for each rule, or a single one without a rule. What is said of the merchant stands in the first one. */
const statement = (columns: readonly string[]): string => `
  SELECT m.time_zone AS merchant_time_zone, m.plan AS merchant_plan, told.overrides, told.switches, ${columns.map((name) => `r.${name}`).join(', ')}
  FROM merchant m
  LEFT JOIN LATERAL (
    SELECT row_number() OVER () AS place, every_rule.* FROM (
      ${rulesWhere('merchant_id = m.id')} UNION ALL
      ${rulesWhere('plan = m.plan')} UNION ALL
      ${rulesWhere('merchant_id IS NULL AND plan IS NULL')}) every_rule
  ) r ON true
  LEFT JOIN LATERAL (SELECT ${overridesOf('m.id')}, ${SWITCHES}) told ON coalesce(r.place, 1) = 1
  WHERE m.id = $1 ORDER BY r.place`;

interface Row extends Readonly<Record<string, unknown>> {
  readonly merchant_time_zone: string;
  readonly merchant_plan: string | null;
  readonly overrides: unknown;
  readonly switches: unknown;
  readonly id: string | null;
}

/**
 * Reads the rules that apply to a merchant in one statement: that is one round trip, and what it answers belongs together whatever is written
 * meanwhile.
 */
export class ApplicableRulesReader {
  private statement: PreparedStatement | undefined;

  constructor(private readonly dataSource: DataSource) {}

  /** Null if there is no such merchant. @throws UnreadableError for overrides and switches; rules are returned as they are stored */
  async read(merchantId: string): Promise<ApplicableRules | null> {
    const metadata = this.dataSource.getMetadata(RuleEntity);
    this.statement ??= { name: 'applicable rules', text: statement(metadata.columns.map(({ databaseName }) => `"${databaseName}"`)) };
    const rows = await askPrepared<Row>(this.dataSource, this.statement, [merchantId, MAX_RULES_PER_OWNER, MOST_SWITCHES]);
    const [first] = rows;
    if (first === undefined) return null;
    const rules = rows.filter(({ id }) => id !== null).map((row) => this.entity(row, metadata));
    return {
      timeZone: first.merchant_time_zone,
      own: rules.filter((rule) => rule.merchantId !== null),
      ofPlan: first.merchant_plan === null ? undefined : rules.filter(({ plan }) => plan !== null),
      defaults: rules.filter((rule) => rule.merchantId === null && rule.plan === null),
      overrides: overridesIn(first.overrides),
      switches: storedSwitches(first.switches ?? []),
    };
  }

  /** As the repository would make it. */
  private entity(row: Row, { columns }: EntityMetadata): RuleEntity {
    const rule = new RuleEntity();
    for (const column of columns)
      column.setEntityValue(rule, this.dataSource.driver.prepareHydratedValue(row[column.databaseName], column));
    rule.showWritten();
    return rule;
  }
}
