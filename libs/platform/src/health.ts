import { withDeadline } from '#waiting';

/** A check that takes longer than this counts as failed. */
export const CHECK_TIMEOUT_MS = 1_000;

export interface CheckResult {
  readonly name: string;
  readonly ok: boolean;
  /** Only of checks without which the process is ready all the same. */
  readonly required?: false;
  /** Why it failed, in words without secrets. */
  readonly detail?: string;
}

export interface Readiness {
  readonly ready: boolean;
  /** True once the process has been told to end; it is then never ready again. */
  readonly stopping: boolean;
  readonly checks: readonly CheckResult[];
}

type Check = () => Promise<void> | void;

interface NamedCheck {
  readonly check: Check;
  readonly required: boolean;
}

/** Whether this process can do its work: the sum of named checks, those that are not required left out. */
export class Health {
  private readonly checks = new Map<string, NamedCheck>();
  private isStopping = false;

  /**
   * Adds a part that must work for the process to be ready, or, if it is not required, one whose failure is only shown. The check
   * throws when it does not work; its message is shown.
   */
  addCheck(name: string, check: Check, { required = true } = {}): void {
    if (this.checks.has(name)) throw new Error(`there already is a health check named ${name}`);
    this.checks.set(name, { check, required });
  }

  /** From now on the process is not ready: load balancers shall send it nothing more. */
  stopping(): void {
    this.isStopping = true;
  }

  /** Runs all checks at once, each for at most CHECK_TIMEOUT_MS. Never rejects. */
  async readiness(): Promise<Readiness> {
    const checks = await Promise.all([...this.checks].map(([name, check]) => run(name, check)));
    return { ready: !this.isStopping && checks.every(({ ok, required }) => ok || required === false), stopping: this.isStopping, checks };
  }
}

async function run(name: string, { check, required }: NamedCheck): Promise<CheckResult> {
  const title = required ? { name } : { name, required: false as const };
  try {
    await withDeadline((async () => check())(), CHECK_TIMEOUT_MS);
    return { ...title, ok: true };
  } catch (error) {
    return { ...title, ok: false, detail: reasonOf(error) };
  }
}

/** Node's refused connections to a name with two addresses come as an AggregateError without a message. */
function reasonOf(error: unknown): string {
  const { name, message, errors } = (error ?? {}) as { name?: unknown; message?: unknown; errors?: unknown };
  if (!message && Array.isArray(errors) && errors.length > 0) return reasonOf(errors[0]);
  const text = String(message || name || error);
  return text.replace(/:\/\/\S*@/g, '://[redacted]@');
}
