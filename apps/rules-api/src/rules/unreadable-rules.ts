import { LABELS, NOTE, objectFaults, storedRule, UnreadableError } from '#limiter';
import { type Logger, ProblemError } from '#platform';
import type { RuleEntity } from '#rules-db';
import { Counter, type Registry } from 'prom-client';

/** Rules that were told of already, by id and version; more are told again. */
const MAX_REMEMBERED = 1_000;

/** What the limiter does not look at. */
const ANNOTATIONS = { note: NOTE, labels: LABELS };

/** Finds rules of which something is stored that makes no sense: rows have been edited by hand before. Counts each find, and logs it once. */
export class UnreadableRules {
  private readonly told = new Set<string>();
  private readonly counter: Counter;

  constructor(
    private readonly logger: Logger,
    registry: Registry,
  ) {
    this.counter = new Counter({
      name: 'tollgate_rules_api_unreadable_rules_total',
      help: 'Rules that were read from the database and made no sense',
      registers: [registry],
    });
  }

  /** What is wrong with a rule; nothing if it can be shown. */
  faultOf(rule: RuleEntity): string | undefined {
    try {
      storedRule(rule);
      const { note, labels } = rule;
      const [fault] = objectFaults({ note, labels }, ANNOTATIONS, { pointer: '', code: 'rule' });
      if (fault) throw new UnreadableError(`rule${fault.pointer.replaceAll('/', '.')}: ${fault.detail}`);
      return undefined;
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error;
      this.tell(rule, error);
      return error.message;
    }
  }

  private tell({ id, version, merchantId }: RuleEntity, error: UnreadableError): void {
    this.counter.inc();
    const name = `${id} ${version}`;
    if (this.told.has(name)) return;
    if (this.told.size >= MAX_REMEMBERED) this.told.clear();
    this.told.add(name);
    this.logger.error(
      { merchantId, ruleId: id, version, reason: error.message },
      'what is stored of a rule cannot be read; replace or delete it',
    );
  }
}

/** The problem of a rule that was asked for and cannot be shown. */
export function unreadableRule({ id, version }: RuleEntity, fault: string): ProblemError {
  return new ProblemError({
    status: 500,
    code: 'rule.unreadable',
    detail: `what is stored of rule ${id}, version ${version}, cannot be read (${fault}); replace or delete it`,
  });
}
