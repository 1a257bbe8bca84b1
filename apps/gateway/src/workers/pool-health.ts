import { isPlainObject } from '#limiter';
import { Health, type CheckResult, type Readiness } from '#platform';
import type { WorkerPool } from './worker-pool.js';

/** A gateway is ready as long as one of its workers is. A check that fails in one of them is shown as failed. */
export class PoolHealth extends Health {
  constructor(private readonly pool: Pick<WorkerPool, 'ask' | 'count' | 'serving'>) {
    super();
  }

  override async readiness(): Promise<Readiness> {
    const { stopping } = await super.readiness();
    const answers = (await this.pool.ask('readiness')).filter(isReadiness);
    const { serving, count } = this.pool;
    const workers: CheckResult = { name: 'workers', required: false, ok: serving >= count, detail: `${serving} of ${count} workers serve` };
    return { ready: !stopping && answers.some(({ ready }) => ready), stopping, checks: [...merged(answers), workers] };
  }
}

function merged(answers: readonly Readiness[]): CheckResult[] {
  const checks = new Map<string, CheckResult>();
  for (const check of answers.flatMap((answer) => answer.checks)) {
    if (checks.get(check.name)?.ok !== false) checks.set(check.name, check);
  }
  return [...checks.values()];
}

function isReadiness(value: unknown): value is Readiness {
  return isPlainObject(value) && typeof value['ready'] === 'boolean' && Array.isArray(value['checks']) && value['checks'].every(isCheck);
}

function isCheck(value: unknown): boolean {
  return isPlainObject(value) && typeof value['name'] === 'string' && typeof value['ok'] === 'boolean';
}
