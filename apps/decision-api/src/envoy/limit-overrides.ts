import { randomBytes } from 'node:crypto';
import { DESCRIPTOR_HEADER } from '#envoy';
import type { Enforcer } from '#enforcement';
import { completed, RULE_FIELDS, startLimits, type Rule, type RuleSpec } from '#limiter';
import { GrpcCode, GrpcError } from '../grpc/grpc-error.js';
import { UNIT_NAMES, windowMsOf } from './units.js';

/** The limit that a descriptor brings with it: envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.RateLimitOverride, checked. */
export interface LimitOverride {
  readonly requestsPerUnit: number;
  /** One that has a window. */
  readonly unit: string;
}

/** The header by which the rule of such a limit finds its requests. */
export const OVERRIDE_HEADER = 'x-tollgate-limit';

/** Different limits at once. Each is a rule that every request is compared with. */
export const MOST_OVERRIDES = 50;
/** One that no call has brought for so long makes room for another one. Its buckets stay in Redis. Milliseconds. */
export const FORGOTTEN_AFTER_MS = 60_000;

/** Ids of stored rules count up from 1, and those of rules in code begin at 2^52. */
const FIRST_ID = 2 ** 51;
/** What a limit may be, in the language of rules. */
const MOST_REQUESTS = 1_000_000_000;
const IDS_OF_A_UNIT = 2 ** 31;

interface KnownOverride {
  readonly header: string;
  readonly rules: readonly Rule[];
  askedAtMs: number;
}

/**
 * Limits that calls bring with their descriptors, as rules of this process: one for each number and unit, which counts each descriptor by itself. Processes that are asked
 * for the same limit have the same rule, and so the same buckets.
 */
export class LimitOverrides {
  private readonly known = new Map<string, KnownOverride>();
  /** A client whose headers a caller passes on cannot guess it: it would choose its own limit. */
  private readonly secret = randomBytes(16).toString('hex');

  /** @param now milliseconds of a clock that is never set */
  constructor(
    private readonly enforcer: Pick<Enforcer, 'rulesHere'>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** The value of the header that a request has to have to be limited so. @throws GrpcError if there are too many different limits */
  headerOf(override: LimitOverride): string {
    const name = `${override.requestsPerUnit}/${override.unit}`;
    const nowMs = this.now();
    let known = this.known.get(name);
    if (known === undefined) known = this.add(name, override, nowMs);
    known.askedAtMs = nowMs;
    return known.header;
  }

  private add(name: string, override: LimitOverride, nowMs: number): KnownOverride {
    if (this.known.size >= MOST_OVERRIDES) this.forget(nowMs);
    const header = `${this.secret}/${name}`;
    const known = { header, rules: rulesOf(override, name, header), askedAtMs: nowMs };
    this.known.set(name, known);
    this.enforcer.rulesHere([...this.known.values()].flatMap(({ rules }) => rules));
    return known;
  }

  private forget(nowMs: number): void {
    for (const [name, { askedAtMs }] of this.known) if (nowMs - askedAtMs >= FORGOTTEN_AFTER_MS) this.known.delete(name);
    if (this.known.size >= MOST_OVERRIDES) throw tooManyOverrides();
  }
}

/** A rule without methods is one for all but OPTIONS. The two have no bucket in common, because the method is an entry of the descriptor. */
function rulesOf(override: LimitOverride, name: string, header: string): readonly Rule[] {
  return [[], ['OPTIONS']].map((methods, i) => ruleOf(override, { name, header, methods, place: i }));
}

interface About {
  readonly name: string;
  readonly header: string;
  readonly methods: readonly string[];
  readonly place: number;
}

function ruleOf({ requestsPerUnit, unit }: LimitOverride, { name, header, methods, place }: About): Rule {
  const limit = Math.min(requestsPerUnit, MOST_REQUESTS);
  const written = {
    name: ['limit of a descriptor:', name, ...methods].join(' '),
    // Before whatever else is written for the merchant: there, a limit that a call brings stands instead of the configured one.
    priority: RULE_FIELDS.priority.max,
    match: { methods, all: [{ field: `header.${OVERRIDE_HEADER}`, equals: header }] },
    key: ['merchant', `header.${DESCRIPTOR_HEADER}`],
    limits: [{ name: unit.toLowerCase(), algorithm: 'fixed_window', limit, windowMs: windowMsOf(unit)! }],
  };
  const { note: _note, labels: _labels, limits, ...spec } = completed(written, RULE_FIELDS) as unknown as RuleSpec;
  // The same in every process, and another one for every number, unit and place.
  const id = FIRST_ID + (UNIT_NAMES.indexOf(unit) * 2 + place) * IDS_OF_A_UNIT + limit;
  return { ...spec, id: String(id), limits: startLimits(limits, 0) };
}

function tooManyOverrides(): GrpcError {
  const detail = `descriptors bring more than ${MOST_OVERRIDES} different limits in ${FORGOTTEN_AFTER_MS / 1_000} seconds: write rules for them`;
  return new GrpcError(GrpcCode.ResourceExhausted, detail, 'descriptor.too_many_limits');
}
