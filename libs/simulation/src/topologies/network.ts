import type { Random } from '../random.js';
import { wholeUs } from '../traffic/arrival.js';
import type { VirtualClock } from '../virtual-clock.js';

/** Carries messages, late, and counts them. Nothing is lost: how a topology lives with loss is not what is compared here. */
export class Network {
  /** Messages that were sent, each from one to one. */
  messages = 0;
  /** Requests that had to wait for an answer over the network before they were decided. */
  waits = 0;

  /** @param latencyMs of a message, on average; each takes between half and one and a half of it */
  constructor(
    private readonly clock: VirtualClock,
    private readonly random: Random,
    private readonly latencyMs: number,
  ) {}

  send(arrive: () => void): void {
    this.messages++;
    this.clock.after(this.latency(), arrive);
  }

  /** The same message to many at once; they have it at the same time. */
  sendToAll(receivers: number, arrive: () => void): void {
    if (receivers <= 0) return;
    this.messages += receivers;
    this.clock.after(this.latency(), arrive);
  }

  /** A question and its answer, two messages, for which a request waits. */
  ask<Answer>(answer: () => Answer, hear: (answer: Answer) => void): void {
    this.waits++;
    this.messages += 2;
    this.clock.after(this.latency(), () => {
      const said = answer();
      this.clock.after(this.latency(), () => hear(said));
    });
  }

  private latency(): number {
    return wholeUs(this.latencyMs * (0.5 + this.random.next()));
  }
}
