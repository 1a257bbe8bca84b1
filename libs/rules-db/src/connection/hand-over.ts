/**
 * Works on each item while the next one is being made: one is under way and one is made, never more. Whatever fails, nothing is under way any more when this
 * rejects, so that a transaction can be ended. It rejects with what failed first: in a transaction everything else fails after that.
 */
export async function handOver<T>(items: Iterable<T> | AsyncIterable<T>, work: (item: T) => Promise<unknown>): Promise<void> {
  const failures: unknown[] = [];
  const note = (error: unknown): void => void failures.push(error);
  let underWay: Promise<unknown> = Promise.resolve();
  try {
    for await (const item of items) {
      await underWay;
      if (failures.length > 0) break;
      underWay = work(item).catch(note);
    }
  } catch (error) {
    note(error);
  }
  await underWay;
  if (failures.length > 0) throw failures[0];
}
