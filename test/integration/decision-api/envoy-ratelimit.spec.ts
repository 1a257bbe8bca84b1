/** The requests and answers of envoyproxy/ratelimit's own tests (test/golden/envoy-ratelimit.yaml): each configuration is imported, and asked for by gRPC, at the second of the row. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, Metadata } from '@grpc/grpc-js';
import { parse } from 'yaml';
import { completed, RULE_FIELDS, startLimits, type Rule, type RuleSpec } from '#limiter';
import { rulesOfRatelimit } from '../../../apps/cli/src/import/envoy/rules-of-ratelimit.js';
import { ROOT } from '../../../scripts/paths.mjs';
import { clientOf, serviceOf, unary } from '../../support/grpc-client.js';
import { type Doors, MemoryEnforcer, openDoors, TOKEN } from './doors.js';

interface GoldenCall {
  readonly at?: number;
  readonly times?: number;
  readonly domain?: string;
  readonly hits?: number;
  readonly descriptors: readonly string[];
  readonly override?: object;
  readonly answer: string;
  readonly resets?: readonly number[];
  readonly names?: readonly string[];
  readonly theirs?: string;
  readonly because?: string;
}

interface Golden {
  readonly configurations: Readonly<Record<string, string>>;
  readonly rows: readonly {
    readonly title: string;
    readonly of: string;
    readonly configuration: string;
    readonly calls: readonly GoldenCall[];
  }[];
  readonly refused: Readonly<Record<string, string>>;
}

const golden = parse(readFileSync(join(ROOT, 'test/golden/envoy-ratelimit.yaml'), 'utf8')) as Golden;
const FIRST_SECOND = 1_000_000;

const enforcer = new MemoryEnforcer();
let doors: Doors;
let client: Client;
const rateLimits = serviceOf('envoy/service/ratelimit/v3/rls.proto', 'envoy.service.ratelimit.v3.RateLimitService');
const metadata = new Metadata();
metadata.set('authorization', `Bearer ${TOKEN}`);

beforeAll(async () => {
  doors = await openDoors(enforcer);
  client = clientOf(doors.port);
});
afterAll(async () => {
  client.close();
  await doors.doors.close(1_000);
  expect(doors.errors).toEqual([]);
});

const translated = (yaml: string) => rulesOfRatelimit(parse(yaml, { schema: 'failsafe' }));

/** Imports a configuration, and empties the buckets. Resolves to its domain. */
function use(yaml: string): string {
  const translation = translated(yaml);
  if ('faults' in translation) throw new Error(JSON.stringify(translation.faults));
  enforcer.begin();
  let lastId = 0;
  const ruleOf = (written: object): Rule => {
    const spec = completed({ ...written }, RULE_FIELDS) as unknown as RuleSpec;
    return { ...spec, id: String(++lastId), limits: startLimits(spec.limits, 0) };
  };
  for (const { id, rules } of translation.document.merchants) enforcer.rules.set(id, rules.map(ruleOf));
  enforcer.defaults = (translation.document.defaultRules ?? []).map(ruleOf);
  return translation.domain;
}

/** Of `key=value, key=value@hits`. */
function descriptorOf(text: string, override: object | undefined): object {
  const [, entries = '', hits] = /^(.*?)(?:@(\d+))?$/.exec(text) ?? [];
  return {
    entries: entries.split(', ').map((entry) => ({ key: entry.slice(0, entry.indexOf('=')), value: entry.slice(entry.indexOf('=') + 1) })),
    ...(hits !== undefined && { hitsAddend: { value: Number(hits) } }),
    ...(override && { limit: override }),
  };
}

interface Status {
  readonly code: string;
  readonly currentLimit?: { readonly name?: string; readonly requestsPerUnit?: number; readonly unit?: string };
  readonly limitRemaining?: number;
  readonly durationUntilReset?: { readonly seconds?: number };
}

function textOf({ code, currentLimit, limitRemaining = 0 }: Status): string {
  const limit = currentLimit === undefined ? 'no limit' : `${currentLimit.requestsPerUnit ?? 0} ${currentLimit.unit ?? 'UNKNOWN'}`;
  return `${code} ${limit} ${limitRemaining}`;
}

async function make(domain: string, { hits, descriptors, override }: GoldenCall) {
  const message = { domain, hitsAddend: hits, descriptors: descriptors.map((each) => descriptorOf(each, override)) };
  const { code, overallCode, statuses = [] } = await unary(client, rateLimits, 'ShouldRateLimit', message, metadata);
  const told = statuses as readonly Status[];
  return {
    answer: overallCode === undefined ? `status ${code}` : `${overallCode}: ${told.map(textOf).join(', ')}`,
    resets: told.map(({ durationUntilReset }) => durationUntilReset?.seconds ?? 0),
    names: told.map(({ currentLimit }) => currentLimit?.name),
  };
}

test.each(golden.rows.map((row) => [row.title, row] as const))('%s', async (_title, { configuration, calls }) => {
  const domain = use(golden.configurations[configuration]!);
  for (const call of calls) {
    enforcer.nowMs = (call.at ?? FIRST_SECOND) * 1_000;
    let told = await make(call.domain ?? domain, call);
    for (let i = 1; i < (call.times ?? 1); i++) told = await make(call.domain ?? domain, call);
    const { descriptors, answer, resets = told.resets, names = told.names } = call;
    expect({ descriptors, ...told }).toEqual({ descriptors, answer, resets, names });
  }
});

test.each(Object.entries(golden.refused))('what it does not load is not imported: %s', (_title, yaml) => {
  expect(translated(yaml)).toHaveProperty('faults');
});

test('where an answer differs, docs/envoy.md says so, and nothing differs that it does not say', () => {
  const [, differences = ''] = readFileSync(join(ROOT, 'docs/envoy.md'), 'utf8').split('## What is different from envoyproxy/ratelimit');
  for (const { answer, theirs, because } of golden.rows.flatMap(({ calls }) => calls)) {
    expect(theirs === undefined).toBe(because === undefined);
    expect(theirs).not.toBe(answer);
    if (because !== undefined) expect(differences).toContain(`- **${because}`);
  }
});
