/** From an app's JSON log to the few lines that somebody watching npm start wants to read. */
import type { LogLine } from './child.js';

/** The same text is told once in this time; what comes in between is counted. */
const REPEAT_AFTER_MS = 10_000;

/** Different texts of which it is known when they were told. */
const MOST_REMEMBERED = 200;

/** What a line of an app's log tells, in plain words; undefined when it is not worth a line. */
export function eventOf(line: LogLine): string | undefined {
  const text = typeof line.msg === 'string' ? line.msg : '';
  if (line.level === 'warn') return `warning: ${text}${reason(line)}`;
  if (line.level === 'error' || line.level === 'fatal') return `ERROR: ${text}${reason(line)}`;
  return line.level === 'info' ? EVENTS[text]?.(line) : undefined;
}

const EVENTS: Readonly<Record<string, (line: LogLine) => string>> = {
  // The Rules API logs routes, of which there are few; the access log of a gateway has paths.
  request: ({ method, route, path, status }) => `${String(method)} ${String(route ?? path)} was answered with ${String(status)}`,
  'full preload done': ({ merchants }) => `has carried ${typeof merchants === 'number' ? merchants : 'all'} merchants to Redis`,
  'rule changes are relayed again': () => 'relays rule changes again',
  'Redis is back': () => 'Redis is back',
  'PostgreSQL is connected': () => 'PostgreSQL is connected',
};

function reason({ err, reason: why }: LogLine): string {
  const message = typeof why === 'string' ? why : (err as { message?: unknown } | undefined)?.message;
  return typeof message === 'string' && message ? ` (${message.split('\n')[0]?.slice(0, 160)})` : '';
}

/** Prints events, each as one line with its time and app, and repetitions now and then. */
export class EventPrinter {
  readonly #told = new Map<string, { readonly untilMs: number; more: number }>();

  constructor(
    private readonly print: (line: string) => void,
    private readonly nowMs: () => number = Date.now,
  ) {}

  tell(app: string, text: string): void {
    const now = this.nowMs();
    const key = `${app} ${text.replace(/\d+/g, '#')}`;
    const told = this.#told.get(key);
    if (told && now < told.untilMs) {
      told.more += 1;
      return;
    }
    const more = told && told.more > 0 ? ` (and ${told.more} times like this before)` : '';
    this.#told.set(key, { untilMs: now + REPEAT_AFTER_MS, more: 0 });
    if (this.#told.size > MOST_REMEMBERED) this.#told.delete(this.#told.keys().next().value!);
    this.print(`${new Date(now).toTimeString().slice(0, 8)}  ${app.padEnd(9)}  ${text}${more}`);
  }
}
