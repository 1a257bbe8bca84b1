import type { PreloadWalk } from '#rule-sync';

/** The time between the end of a checkpoint of a run and the next one, in milliseconds. A worker that resumes the run writes again what was written since the last one. */
const CHECKPOINT_INTERVAL_MS = 100;

/**
 * Saves how far a walk has come, one save at a time, while the walk goes on: a save takes three round trips behind the chunks that are being written, for which
 * PostgreSQL would have nothing to do.
 */
export class Checkpoints {
  private saving: Promise<void> | undefined;
  private failure: { readonly error: unknown } | undefined;
  private savedAtMs = -Infinity;

  constructor(private readonly save: (walk: PreloadWalk) => Promise<void>) {}

  /** @throws what the last save has failed with: another worker may have the job by now */
  reached(walk: PreloadWalk, nowMs: number): void {
    if (this.failure !== undefined) throw this.failure.error;
    if (this.saving !== undefined || nowMs - this.savedAtMs < CHECKPOINT_INTERVAL_MS) return;
    this.saving = this.save(walk)
      .catch((error: unknown) => {
        this.failure = { error };
      })
      .finally(() => {
        this.savedAtMs = performance.now();
        this.saving = undefined;
      });
  }

  /** Waits until nothing is being saved. */
  async settled(): Promise<void> {
    await this.saving;
  }

  /** Saves where the walk has ended. @throws as `reached`, or what this save fails with */
  async end(walk: PreloadWalk): Promise<void> {
    await this.settled();
    if (this.failure !== undefined) throw this.failure.error;
    await this.save(walk);
  }
}
