/** The time in which a load generator counts, and what it prints at its end, as JSON. */
import { Latencies } from './latencies.mjs';
import { forgetLateness, latenessAt } from './pace.mjs';

export class Measurement {
  /** Nothing more is asked. */
  over = false;
  #latencies = new Latencies();
  /** The same by whole seconds, so that one stray moment of the machine is seen as one. @type {Latencies[]} */
  #bySecond = [];
  #since = 0;
  #measuring = false;
  /** @type {Record<string, number>} */
  #statuses = {};
  #limited = 0;
  #tellsCounts = false;

  /** @param {{ warmupMs: number, measureMs: number, tellsCounts?: boolean }} times from now on; the process ends behind them */
  start({ warmupMs, measureMs, tellsCounts = false }) {
    this.#tellsCounts = tellsCounts;
    setTimeout(() => {
      this.#measuring = true;
      this.#since = performance.now();
      forgetLateness();
      const cpuBefore = process.cpuUsage();
      console.log('measuring');
      setTimeout(() => {
        this.#measuring = false;
        this.over = true;
        // A process that exits keeps nothing of what the pipe has not taken yet: with the counts of each second it is more than fits.
        process.stdout.write(`${this.#result(process.cpuUsage(cpuBefore))}\n`, () => process.exit(0));
      }, measureMs);
    }, warmupMs);
  }

  /** @param {number} askedAt @param {string} status @param {boolean} limited whether it shows that a rule was asked */
  answered(askedAt, status, limited) {
    if (!this.#measuring) return;
    const nowMs = performance.now();
    this.#latencies.add(nowMs - askedAt);
    (this.#bySecond[Math.trunc((nowMs - this.#since) / 1000)] ??= new Latencies()).add(nowMs - askedAt);
    this.#statuses[status] = (this.#statuses[status] ?? 0) + 1;
    if (limited) this.#limited++;
  }

  /** @param {NodeJS.CpuUsage} cpu */
  #result({ user, system }) {
    const seconds = (performance.now() - this.#since) / 1000;
    const answers = this.#latencies.count;
    return JSON.stringify({
      perSecond: answers / seconds,
      answers,
      seconds,
      p50Ms: this.#latencies.quantile(0.5),
      p99Ms: this.#latencies.quantile(0.99),
      p99MsBySecond: this.#bySecond.map((each) => each.quantile(0.99)),
      ...(this.#tellsCounts && { countsBySecond: this.#bySecond.map((each) => each.counts()) }),
      statuses: this.#statuses,
      limitedShare: this.#limited / answers,
      lateP50Ms: latenessAt(0.5),
      lateP99Ms: latenessAt(0.99),
      busy: (user + system) / 1e6 / seconds,
    });
  }
}

/** @param {string} reason @returns {never} */
export function fail(reason) {
  console.error(reason);
  process.exit(1);
}
