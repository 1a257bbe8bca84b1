import type { Arrival } from './arrival.js';

/** Streams of arrivals as one, in the order of time. Reads each stream no further than needed. */
export function* merge(streams: readonly Iterable<Arrival>[]): Generator<Arrival> {
  const open: { arrival: Arrival; rest: Iterator<Arrival> }[] = [];
  for (const stream of streams) {
    const rest = stream[Symbol.iterator]();
    const first = rest.next();
    if (!first.done) open.push({ arrival: first.value, rest });
  }
  while (open.length > 0) {
    let first = 0;
    for (let i = 1; i < open.length; i++) if (open[i]!.arrival.atMs < open[first]!.arrival.atMs) first = i;
    const stream = open[first]!;
    yield stream.arrival;
    const next = stream.rest.next();
    if (next.done) open.splice(first, 1);
    else stream.arrival = next.value;
  }
}
