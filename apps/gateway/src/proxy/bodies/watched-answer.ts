import { headerValues, PassingBody, unreadableByHead } from '#edge';
import type { AnswerFacts, AnswerHead } from '#limiter';
import type { DataPlane } from '../data-plane.js';
import type { MerchantLoad } from '../sharing/merchant-load.js';

/** What has come of an answer for which a charge waits. It holds nothing up: the client gets each piece as if nobody looked. */
export class WatchedAnswer {
  private head: AnswerHead | undefined;
  private body: PassingBody | undefined;

  constructor(
    private readonly plane: DataPlane,
    private readonly load: MerchantLoad,
    private readonly readsBody: boolean,
  ) {}

  /** @param rawHeaders names and values alternating, as the upstream has sent them */
  begun(status: number, rawHeaders: readonly Buffer[]): void {
    const list = rawHeaders.map((each) => each.toString('latin1'));
    const head = { status, headerValues: (name: string) => headerValues(list, name) };
    this.head = head;
    if (!this.readsBody) return;
    const { plane, load } = this;
    this.body = new PassingBody(
      unreadableByHead(head, Number(head.headerValues('content-length')[0] ?? -1)),
      (bytes) => plane.buffer(load, bytes),
      (bytes) => plane.unbuffer(load, bytes),
    );
  }

  passed(chunk: Buffer): void {
    this.body?.add(chunk);
  }

  completed(): void {
    this.body?.whole();
  }

  /** What is known when the exchange ends. To be asked once, in any case: it holds memory for what it looks at. */
  facts(): AnswerFacts {
    return { head: this.head, body: this.body?.read() };
  }
}
