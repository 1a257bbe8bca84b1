import { withDeadline } from '#waiting';

/** A check that takes longer than this counts as failed. */
export const CHECK_TIMEOUT_MS = 1_000;

export interface CheckResult {
  readonly name: string;
  readonly ok: boolean;
  /** False if the process is ready even though this check fails; absent otherwise. */
  readonly required?: false;
  /** Why the check failed, without secrets. */
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

/** Whether this process can do its work: it can if every required check passes. */
export class Health {
  private readonly checks = new Map<string, NamedCheck>();
  private isStopping = false;

  /**
   * Adds a check that has to pass for the process to be ready; if it is not required, its failure is only shown. A check fails by
   * throwing, or by rejecting, with a message that may be shown.
   *
   * @throws Error if a check of this name exists
   */
  addCheck(name: string, check: Check, { required = true } = {}): void {
    if (this.checks.has(name)) throw new Error(`there already is a health check named ${name}`);
    this.checks.set(name, { check, required });
  }

  /** Makes the process unready for good, so that load balancers send it nothing more. */
  stopping(): void {
    this.isStopping = true;
  }

  /** Runs all checks at once, each for at most CHECK_TIMEOUT_MS milliseconds. Never rejects. */
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

/** If a connection to a name with two addresses is refused, Node throws an AggregateError without a message. */
function reasonOf(error: unknown): string {
  const { name, message, errors } = (error ?? {}) as { name?: unknown; message?: unknown; errors?: unknown };
  if (!message && Array.isArray(errors) && errors.length > 0) return reasonOf(errors[0]);
  const text = String(message || name || error);
  return text.replace(/:\/\/\S*@/g, '://[redacted]@');
}
