import { type Actor, OverrideFaultsError, type OverrideSpec } from '#rules-db';
import { badBody } from '../http/validation.pipe.js';
import type { CreateOverrideDto } from './override.dto.js';

const LONGEST_MS = 366 * 86_400_000;

/** What is written of an override. @throws ProblemError 400 */
export function overrideSpec({ ruleId, multiply, limits, until }: CreateOverrideDto, by: Actor): OverrideSpec {
  const untilMs = Date.parse(until);
  const nowMs = Date.now();
  if (untilMs <= nowMs || untilMs > nowMs + LONGEST_MS) {
    const detail = `must be in the future and at most a year away, got ${JSON.stringify(until)}`;
    throw badBody([{ pointer: '/until', code: 'override.until.out_of_range', detail }]);
  }
  const common = { ruleId, untilMs, reason: by.reason ?? null };
  if ((multiply === undefined) === (limits === undefined)) {
    const code = multiply === undefined ? 'override.multiply.missing' : 'override.multiply.not_applicable';
    throw badBody([{ pointer: '/multiply', code, detail: 'must be given, or limits instead of it, but not both' }]);
  }
  if (multiply !== undefined) return { ...common, numbers: { multiply } };
  return { ...common, numbers: { limits: limits!.map(numbersOf) } };
}

function numbersOf(
  { name, ...numbers }: Readonly<Record<string, unknown>>,
  index: number,
  all: readonly Readonly<Record<string, unknown>>[],
) {
  const at = `/limits/${index}`;
  if (all.findIndex((each) => each['name'] === name) < index) {
    throw badBody([
      { pointer: `${at}/name`, code: 'override.limits.repeated', detail: `must be different from the others, got ${JSON.stringify(name)}` },
    ]);
  }
  const given = Object.entries(numbers).filter((entry): entry is [string, number] => entry[1] !== undefined);
  if (given.length === 0)
    throw badBody([{ pointer: at, code: 'override.limits.missing', detail: 'must have a number in place of one of the limit' }]);
  return { name: name as string, numbers: Object.fromEntries(given) };
}

/** Whatever makes no limits of the limits of the rule is a fault of a field. @throws ProblemError 400 */
export async function namingFields<T>(creation: Promise<T>): Promise<T> {
  try {
    return await creation;
  } catch (error) {
    if (!(error instanceof OverrideFaultsError)) throw error;
    throw badBody(
      error.faults.map(({ at, detail, code }) => ({ pointer: `/${at}`, code: code ?? `override.${lastPart(at)}.out_of_range`, detail })),
    );
  }
}

const lastPart = (path: string): string => path.split('/').at(-1)!;
