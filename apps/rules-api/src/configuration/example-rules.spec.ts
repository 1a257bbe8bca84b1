import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MemoryBucketStore, merchantRules, RateLimiter, startLimits, type CheckOutcome, type Descriptor, type Rule } from '#limiter';
import { ProblemError } from '#platform';
import { validated } from '../http/validation.pipe.js';
import { RuleDto } from '../rules/rule.dto.js';
import { readConfiguration } from './document.js';
import { parseYaml } from './yaml-body.js';

const ROOT = join(import.meta.dirname, '../../../..');
const FOLDER = join(ROOT, 'examples/rules');
const FILES = readdirSync(FOLDER).sort();

const textOf = (file: string) => readFileSync(join(FOLDER, file), 'utf8');
const read = (file: string) => readConfiguration(parseYaml(Buffer.from(textOf(file))));

async function codesOf(reading: Promise<unknown>): Promise<readonly (string | undefined)[]> {
  const error = await reading.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error === undefined) return [];
  expect(error).toBeInstanceOf(ProblemError);
  return ((error as ProblemError).errors ?? []).map(({ code }) => code);
}

describe('examples/rules', () => {
  it('has the nine rules that every release must be able to express, two for users and addresses together, one that keeps a share, and one that is leased', () => {
    const numbers = FILES.map((file) => Number(file.split('-', 1)[0])).sort((a, b) => a - b);
    expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
  });

  it.each(FILES)('%s is accepted', async (file) => {
    expect(await codesOf(read(file))).toEqual([]);
  });
});

type Asked = Partial<Descriptor> & { readonly atMs?: number };

/** Asks the rules of an example, which have just been written, and says what passed. */
async function passed(name: string, requests: readonly Asked[]): Promise<boolean[]> {
  const [merchant] = [...(await read(FILES.find((file) => file.startsWith(`${name}-`))!)).merchants];
  const startMs = requests[0]?.atMs ?? 0;
  const rules = merchant!.rules.map((spec, i): Rule => ({ ...spec, id: String(i + 1), limits: startLimits(spec.limits, startMs) }));
  const compiled = merchantRules('shop', rules, [], { timeZone: merchant!.timeZone });
  let nowMs = startMs;
  const store = new MemoryBucketStore(() => nowMs);
  const limiter = new RateLimiter(store, store, { nowMs: () => nowMs });
  return requests.map(({ atMs = nowMs, ...changes }) => {
    nowMs = atMs;
    let outcome: CheckOutcome | undefined;
    limiter.check(
      compiled,
      { merchantId: 'shop', ip: '192.0.2.1', method: 'POST', target: '/', ...changes },
      (answer) => (outcome = answer),
    );
    return !(outcome instanceof Error) && outcome!.allowed;
  });
}

const times = <T>(count: number, value: T) => Array.from({ length: count }, () => value);

describe('an example that is accepted', () => {
  it('1: counts an IPv6 /64 as one source', async () => {
    const from = (ip: string) => ({ ip, target: '/accounts' });
    const requests = [...times(20, from('2001:db8:1:2::1')), from('2001:db8:1:2:ffff::2'), from('2001:db8:1:3::1'), from('192.0.2.7')];
    expect(await passed('1', requests)).toEqual([...times(20, true), false, true, true]);
  });

  it('6: lets a burst of 150 pass, and 100 a minute after it', async () => {
    expect(await passed('6', [...times(151, {}), ...times(101, { atMs: 60_000 })])).toEqual([
      ...times(150, true),
      false,
      ...times(100, true),
      false,
    ]);
  });

  it('7: refuses the third request of a user in a second, and not that of another user', async () => {
    const of = (user: string) => ({ user });
    expect(await passed('7', [...times(3, of('ann')), of('bob')])).toEqual([true, true, false, true]);
  });

  it('8: is tighter at night for one country only', async () => {
    const from = (country: string) => ({ target: '/transactions/1', more: { headerValues: () => [], hostName: undefined, country } });
    const night = { atMs: Date.parse('2026-06-01T02:00:00+02:00'), ...from('NO') };
    const morning = { ...night, atMs: Date.parse('2026-06-01T06:00:00+02:00') };
    expect(await passed('8', [...times(6, night), { ...night, ...from('SE') }, ...times(6, morning)])).toEqual([
      ...times(5, true),
      false,
      true,
      ...times(6, true),
    ]);
  });

  it('9: keeps all three bounds', async () => {
    const requests = Array.from({ length: 7 }, (_, i) => ({ atMs: Math.floor(i / 2) * 1_000 }));
    expect(await passed('9', [{ atMs: 0 }, ...requests.slice(1), { atMs: 3_000 }])).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

describe('the example that keeps a share', () => {
  it('12: refuses at 20 left, and lets captures and refunds pass until nothing is', async () => {
    const capture = { target: '/transactions/7/capture' };
    const refund = { target: '/refunds/7' };
    expect(await passed('12', [...times(81, {}), ...times(12, capture), ...times(9, refund), {}, capture])).toEqual([
      ...times(80, true),
      false,
      ...times(20, true),
      false,
      false,
      false,
    ]);
  });
});

/** ```json, and ```json refused CODE, each with a part of a rule. */
const EXAMPLES = [...readFileSync(join(ROOT, 'docs/rules.md'), 'utf8').matchAll(/^```json(?: refused (\S+))?\n([^]*?)\n```$/gm)].map(
  ([, code, json]) => [json!, code] as const,
);

describe('docs/rules.md', () => {
  const base = { name: 'example', limits: [{ name: 'a minute', algorithm: 'fixed_window', limit: 5, windowMs: 60_000 }] };

  it.each(EXAMPLES)('%s is accepted, or refused with the code beside it', async (json, code) => {
    const rule = { ...base, ...(JSON.parse(json) as object) };
    expect(await codesOf(Promise.resolve().then(() => validated(rule, RuleDto)))).toEqual(code === undefined ? [] : [code]);
  });

  it('has an example of every operator, and of every part that is not enforced yet', () => {
    const text = EXAMPLES.map(([json]) => json).join();
    const parts = [
      'equals',
      'in',
      'startsWith',
      'endsWith',
      'contains',
      'like',
      'atLeast',
      'atMost',
      'from',
      'to',
      'inRanges',
      'absent',
      'all',
      'any',
      'not',
    ];
    expect(parts.filter((part) => !text.includes(`"${part}"`))).toEqual([]);
    const toCome = Object.entries(RuleDto.fields).flatMap(([name, { kind }]) => (kind === 'to_come' ? [name] : []));
    expect(toCome.filter((name) => !EXAMPLES.some(([, code]) => code === `rule.${name}.not_enforced`))).toEqual([]);
  });
});
