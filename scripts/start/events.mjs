/** From an app's JSON log to the few lines that somebody watching npm start wants to read. */

/** @typedef {import('./child.mjs').LogLine} LogLine */

/** The same text is told once in this time; what comes in between is counted. */
const REPEAT_AFTER_MS = 10_000;

const WORTH_ATTENTION = new Set(['warn', 'error', 'fatal']);

/**
 * What a line of an app's log tells, in plain words; undefined when it is not worth a line.
 * @param {LogLine} line
 * @returns {string | undefined}
 */
export function eventOf(line) {
  const text = typeof line.msg === 'string' ? line.msg : '';
  if (WORTH_ATTENTION.has(String(line.level))) return `${line.level === 'warn' ? 'warning' : 'ERROR'}: ${text}${reason(line)}`;
  if (line.level !== 'info') return undefined;
  return EVENTS[text]?.(line);
}

/** @type {Record<string, (line: LogLine) => string | undefined>} */
const EVENTS = {
  request: ({ method, route, status }) => `${method} ${route} was answered with ${status}`,
  'full preload done': ({ done, total }) => `has carried ${done ?? total ?? 'all'} merchants to Redis`,
  'rule changes are relayed again': () => 'relays rule changes again',
  'Redis is back': () => 'Redis is back',
  'PostgreSQL is connected': () => 'PostgreSQL is connected',
};

/** @param {LogLine} line */
function reason({ err, reason: why }) {
  const message = typeof why === 'string' ? why : /** @type {{ message?: unknown } | undefined} */ (err)?.message;
  return typeof message === 'string' && message ? ` (${message.split('\n')[0]?.slice(0, 160)})` : '';
}

/** Prints events, each as one line with its time and app, and repetitions now and then. */
export class EventPrinter {
  /** @type {Map<string, { untilMs: number, more: number }>} */
  #recent = new Map();

  /**
   * @param {(line: string) => void} print
   * @param {() => number} nowMs
   */
  constructor(print, nowMs = Date.now) {
    this.print = print;
    this.nowMs = nowMs;
  }

  /**
   * @param {string} app
   * @param {string} text
   */
  tell(app, text) {
    const now = this.nowMs();
    const key = `${app} ${text.replace(/\d+/g, '#')}`;
    const seen = this.#recent.get(key);
    if (seen && now < seen.untilMs) {
      seen.more += 1;
      return;
    }
    const more = seen && seen.more > 0 ? ` (and ${seen.more} times like this before)` : '';
    this.#recent.set(key, { untilMs: now + REPEAT_AFTER_MS, more: 0 });
    if (this.#recent.size > 200) this.#recent.delete(/** @type {string} */ (this.#recent.keys().next().value));
    this.print(`${new Date(now).toTimeString().slice(0, 8)}  ${app.padEnd(9)}  ${text}${more}`);
  }
}
