import dns, { type LookupAddress, type LookupAllOptions, type LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';

/** How long an address is believed after DNS said it last. An address that is given up belongs to somebody else some day. */
const KEPT_MS = 15 * 60_000;
/** So long DNS may think before what it said last is believed. A part of what a connection may take. */
const PATIENCE_MS = 500;
/** Names come from the configuration; those of routes that are gone are forgotten when there are others. */
const MOST_NAMES = 1_000;

type Done = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void;

export interface LastKnownOptions {
  readonly lookup?: (hostname: string, options: LookupAllOptions, done: Done) => void;
  /** Milliseconds that never step back. */
  readonly now?: () => number;
  readonly patienceMs?: number;
}

/** A look-up that has not been answered yet. Those who ask meanwhile wait for the same one: the system has four threads for them. */
interface UnderWay {
  readonly startedMs: number;
  readonly waiting: Done[];
}

/**
 * Looks names up as Node does; while DNS is away, or thinks for too long, the answer is what it said last. Connections that an upstream needs are to be had then,
 * though nobody can say whether its address is another one by now. That a name does not exist is an answer of DNS, and believed.
 */
export function lastKnownLookup({ lookup = systemLookup, now = () => performance.now(), patienceMs = PATIENCE_MS }: LastKnownOptions = {}) {
  const known = new Map<string, { readonly addresses: readonly LookupAddress[]; readonly atMs: number }>();
  const underWay = new Map<string, UnderWay>();

  const ask = (name: string, hostname: string, options: LookupOptions, { waiting }: UnderWay): void => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      underWay.delete(name);
      if (error === null && addresses.length > 0) {
        // Behind all others: the first is the one that was not asked for longest.
        known.delete(name);
        known.set(name, { addresses, atMs: now() });
        if (known.size > MOST_NAMES) known.delete(known.keys().next().value!);
      }
      for (const done of waiting) done(error, addresses);
    });
  };

  const find = (hostname: string, options: LookupOptions, done: Done): void => {
    const name = `${hostname} ${options.family ?? 0} ${options.hints ?? 0}`;
    const last = known.get(name);
    const before = underWay.get(name);
    const asked = before ?? { startedMs: now(), waiting: [] };
    if (last === undefined || now() - last.atMs > KEPT_MS) {
      asked.waiting.push(done);
    } else {
      const once = onlyOnce(done);
      const timer = setTimeout(() => once(null, last.addresses), Math.max(0, asked.startedMs + patienceMs - now()));
      asked.waiting.push((error, addresses) => {
        clearTimeout(timer);
        if (error === null || error.code === 'ENOTFOUND') once(error, addresses);
        else once(null, last.addresses);
      });
    }
    if (before !== undefined) return;
    underWay.set(name, asked);
    ask(name, hostname, options, asked);
  };

  const found: LookupFunction = (hostname, options, callback) =>
    find(hostname, options, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) callback(error ?? noAddress(hostname), '');
      else if (options.all) callback(null, [...addresses]);
      else callback(null, first.address, first.family);
    });
  return found;
}

/** By its name at the time of the call. */
function systemLookup(hostname: string, options: LookupAllOptions, done: Done): void {
  dns.lookup(hostname, options, done);
}

function onlyOnce(done: Done): Done {
  let isDone = false;
  return (...answer) => {
    if (isDone) return;
    isDone = true;
    done(...answer);
  };
}

function noAddress(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`no address of ${hostname}`), { code: 'ENODATA' });
}
