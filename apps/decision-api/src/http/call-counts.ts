/** How calls were answered, by call and class of status. Both are few. */
export class CallCounts {
  private readonly counts = new Map<string, number>();
  inFlight = 0;

  /** @param call the path of one that there is, or `unknown` */
  count(call: string, status: number): void {
    const key = `${call} ${Math.trunc(status / 100)}xx`;
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  read(): readonly (readonly [call: string, statusClass: string, count: number])[] {
    return [...this.counts].map(([key, count]) => {
      const [call = '', statusClass = ''] = key.split(' ');
      return [call, statusClass, count];
    });
  }
}
