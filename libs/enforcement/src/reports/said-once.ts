/** What happens again and again is said once; when it has not happened for so long, it is news again. */
const QUIET_MS = 60_000;

/** Tells what is worth a line of the log from what would only add to the trouble. Bounded by the number of kinds. */
export class SaidOnce<Kind> {
  private readonly lastMs = new Map<Kind, number>();

  /** @param nowMs of a clock that never steps back */
  isNews(kind: Kind, nowMs: number): boolean {
    const lastMs = this.lastMs.get(kind);
    this.lastMs.set(kind, nowMs);
    return lastMs === undefined || nowMs - lastMs >= QUIET_MS;
  }
}
