/**
 * What is to be done at the end of this turn of the event loop, when all that had arrived in the sockets has been read.
 *
 * Answers that are written one by one, between the requests of others, wake the process that reads them once each, wherever it is faster than we are. That costs both sides more than
 * many a decision. Written one after the other, they wake it once.
 */
export class EndOfTurn<Item> {
  private items: Item[] = [];

  /** @param each does not throw */
  constructor(private readonly each: (item: Item) => void) {}

  add(item: Item): void {
    if (this.items.length === 0) setImmediate(this.run);
    this.items.push(item);
  }

  private readonly run = (): void => {
    const { items } = this;
    // What comes up meanwhile has its own turn.
    this.items = [];
    for (const item of items) this.each(item);
  };
}
