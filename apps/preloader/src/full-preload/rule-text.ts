import { isMerchantKeyed, type StoredRules, UnreadableError } from '#limiter';
import { compactRuleText } from '#limiter-redis';
import type { CopiedRule } from '#rules-db';

/** How PostgreSQL begins each time in the JSON of a limit. In a text within JSON a quote has a backslash before it, so this is always the name of a field. */
const TIME = '"atMs": ';
/** A time of so many digits is within the bounds of times. Any other stays where it is. */
const LONGEST_TIME = 12;
const TIME_DIGITS = 13;
const [ZERO, NINE] = [48, 57];

/** Marks for what differs: a valid id, and valid times, that no rule has. */
const MARKED_ID = '8999998000000000000';
const MARKED_TIMES = '8999999';
const MARK = new RegExp(`${MARKED_ID}|${MARKED_TIMES}\\d{${TIME_DIGITS - MARKED_TIMES.length}}`, 'g');
const MOST_TIMES = 1000;

interface Cut {
  /** The columns without their times. */
  readonly key: string;
  /** The digits of the times, in their order. */
  readonly times: readonly string[];
}

const NO_TIMES: readonly string[] = [];

/** Takes the times out of a rule's columns. */
export function cutTimes(columns: string): Cut {
  if (!columns.includes(TIME)) return { key: columns, times: NO_TIMES };
  const times: string[] = [];
  const key = replaceTimes(columns, (time) => {
    times.push(time);
    return '';
  });
  return { key, times };
}

function replaceTimes(columns: string, replace: (time: string) => string): string {
  let [text, copied] = ['', 0];
  for (let found = columns.indexOf(TIME); found >= 0; found = columns.indexOf(TIME, found)) {
    found += TIME.length;
    const end = endOfTime(columns, found);
    if (end === found) continue;
    text += columns.slice(copied, found) + replace(columns.slice(found, end));
    copied = end;
  }
  return text + columns.slice(copied);
}

/** Behind the last digit; where it begins, if it is no time that can be taken out. */
function endOfTime(columns: string, start: number): number {
  let end = start;
  while (isDigit(columns.charCodeAt(end))) end++;
  const next = columns[end];
  const isWhole = next === ',' || next === '}';
  const digits = end - start;
  const isUsual = digits <= LONGEST_TIME || (digits === TIME_DIGITS && columns.charCodeAt(start) < NINE);
  return isWhole && isUsual ? end : start;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

/** The compact text of a rule with places for its id and its times. */
export class RuleText {
  private constructor(
    /** One more than places. */
    private readonly pieces: readonly string[],
    /** What comes into each place: the number of a time, or -1 for the id. */
    private readonly places: readonly number[],
    /** Limits whose buckets can be there before the first request. */
    readonly limitsInAdvance: readonly number[],
  ) {}

  /**
   * Writes a rule with marks instead of its id and times, and looks where they come out. Undefined if the rule cannot be read, or if a mark does not come out exactly once.
   * @param columns of the rule
   * @param parse throws UnreadableError
   */
  static of(columns: string, parse: (rule: CopiedRule) => StoredRules): RuleText | undefined {
    const { key, times } = cutTimes(columns);
    if (times.length > MOST_TIMES || key.includes(MARKED_TIMES) || key.includes(MARKED_ID)) return undefined;
    const rule = readable(() => parse({ id: MARKED_ID, columns: withMarks(columns) }));
    if (rule === undefined) return undefined;
    const text = compactRuleText(rule);
    const places = (text.match(MARK) ?? []).map((mark) => (mark === MARKED_ID ? -1 : Number(mark.slice(MARKED_TIMES.length))));
    if (places.length !== times.length + 1 || new Set(places).size !== places.length) return undefined;
    return new RuleText(text.split(MARK), places, isMerchantKeyed(rule) ? rule.limits.map(({ id }) => id) : []);
  }

  write(id: string, times: readonly string[]): string {
    const { pieces, places } = this;
    let text = pieces[0]!;
    for (let i = 0; i < places.length; i++) {
      const place = places[i]!;
      text += (place === -1 ? id : times[place]!) + pieces[i + 1]!;
    }
    return text;
  }
}

function readable(parse: () => StoredRules): StoredRules['rules'][0] | undefined {
  try {
    return parse().rules[0];
  } catch (error) {
    if (error instanceof UnreadableError) return undefined;
    throw error;
  }
}

/** The columns with a mark in place of each time. */
function withMarks(columns: string): string {
  let count = 0;
  return replaceTimes(columns, () => MARKED_TIMES + String(count++).padStart(TIME_DIGITS - MARKED_TIMES.length, '0'));
}
