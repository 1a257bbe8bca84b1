import { Counter, Gauge, type Registry } from 'prom-client';

/** A counter of a number that somebody else keeps: it is read when Prometheus asks. */
export function counter(registry: Registry, name: string, help: string, read: () => number): void {
  counterBy(registry, name, help, [], () => [[[], read()]]);
}

/** The same by labels. @param read the values of the labels, in the order of their names, and the count of each combination */
export function counterBy<L extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly L[],
  read: () => Iterable<readonly [values: readonly string[], count: number]>,
): void {
  new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      this.reset();
      for (const [values, count] of read()) {
        this.inc(Object.fromEntries(labelNames.map((label, i) => [label, values[i]!])) as Record<L, string>, count);
      }
    },
  });
}

/** What several processes of one app say together: their sum, or the largest or smallest of what each says. */
export type Together = 'sum' | 'max' | 'min';

/** A gauge of a number that somebody else keeps. */
export function gauge(registry: Registry, name: string, help: string, read: () => number, together: Together = 'sum'): void {
  gaugeBy(registry, name, help, [], () => [[[], read()]], together);
}

/** The same by labels. @param read the values of the labels, in the order of their names, and what is now */
export function gaugeBy<L extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly L[],
  read: () => Iterable<readonly [values: readonly string[], value: number]>,
  together: Together = 'sum',
): void {
  new Gauge({
    name,
    help,
    aggregator: together,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      // What is not there any more is not shown.
      this.reset();
      for (const [values, value] of read()) this.labels(...values).set(value);
    },
  });
}
