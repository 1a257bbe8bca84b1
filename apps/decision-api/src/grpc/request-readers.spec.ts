import * as fc from 'fast-check';
import { runs } from '#limiter/testing';
import { serviceNamed } from './protos.js';
import { readCheckRequest, readRateLimitRequest } from './request-readers.js';
import { StrictReader } from './strict-reader.js';

const aText = fc.oneof(fc.string(), fc.constantFrom('', 'é €', '😀', '\ufffd', 'x'.repeat(300)));
const pairOf = (first: string, second: string) => fc.record({ [first]: aText, [second]: aText });
const aCount = fc.oneof(fc.nat(), fc.constantFrom(0, 1, 2 ** 32 - 1));
const parts = { requiredKeys: [] as never[] };

const checkRequests = fc.record(
  {
    merchant: aText,
    user: aText,
    ip: aText,
    country: aText,
    method: aText,
    path: aText,
    host: aText,
    headers: fc.array(pairOf('name', 'value'), { maxLength: 3 }),
    cost: aCount,
    wantClaim: fc.boolean(),
  },
  parts,
);
const rateLimitRequests = fc.record(
  {
    domain: aText,
    descriptors: fc.array(fc.record({ entries: fc.array(pairOf('key', 'value'), { maxLength: 4 }) }), { maxLength: 3 }),
    hitsAddend: aCount,
  },
  parts,
);
const cases = [
  ['tollgate.v1.DecisionService', 'Check', readCheckRequest, checkRequests],
  ['envoy.service.ratelimit.v3.RateLimitService', 'ShouldRateLimit', readRateLimitRequest, rateLimitRequests],
] as const;

/** A message without members that are undefined, or that it cannot be read. */
function outcomeOf(read: () => object | undefined): unknown {
  try {
    const message = read();
    return message && Object.fromEntries(Object.entries(message).filter(([, value]) => value !== undefined));
  } catch {
    return 'unreadable';
  }
}

describe.each(cases)('%s %s', (service, method, read, requests) => {
  const { requestSerialize, requestDeserialize } = serviceNamed(service)[method]!;
  const asAny = (bytes: Buffer) => requestDeserialize(new StrictReader(bytes) as unknown as Buffer);

  it('is read as any message is', () => {
    fc.assert(
      fc.property(requests, (message) => {
        const bytes = requestSerialize(message);
        expect(outcomeOf(() => read(bytes))).toEqual(outcomeOf(() => asAny(bytes)));
      }),
      runs(300),
    );
  });

  it('is read so, or left to the reader of all messages, or unreadable for both, whatever is damaged', () => {
    const damage = fc.record({
      at: fc.nat(),
      byte: fc.integer({ min: 0, max: 255 }),
      kind: fc.constantFrom('change', 'drop', 'insert', 'cut'),
    });
    fc.assert(
      fc.property(requests, fc.array(damage, { minLength: 1, maxLength: 3 }), (message, damages) => {
        let bytes = requestSerialize(message);
        for (const { at, byte, kind } of damages) {
          const place = at % (bytes.length + 1);
          const behind = kind === 'insert' ? place : place + 1;
          const between = kind === 'change' || kind === 'insert' ? Buffer.of(byte) : Buffer.alloc(0);
          bytes = Buffer.concat([bytes.subarray(0, place), between, kind === 'cut' ? Buffer.alloc(0) : bytes.subarray(behind)]);
        }
        const ours = outcomeOf(() => read(bytes));
        if (ours !== undefined) expect(ours).toEqual(outcomeOf(() => asAny(bytes)));
      }),
      runs(1_000),
    );
  });
});

it('leaves what is rare to the reader of all messages', () => {
  const check = serviceNamed('tollgate.v1.DecisionService')['Check']!;
  for (const message of [{ apiKey: { id: '3' } }, { body: { numberValue: 1 } }, { jwt: { fields: {} } }])
    expect(readCheckRequest(check.requestSerialize({ merchant: 'acme', ...message }))).toBeUndefined();
  const limits = serviceNamed('envoy.service.ratelimit.v3.RateLimitService')['ShouldRateLimit']!;
  const descriptors = [{ entries: [], hitsAddend: { value: 3 } }];
  expect(readRateLimitRequest(limits.requestSerialize({ domain: 'shop', descriptors }))).toBeUndefined();
});
