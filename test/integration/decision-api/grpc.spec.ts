/** The decision API by gRPC: its own service, health, reflection, and what clients may send that is no call. */
import { once } from 'node:events';
import { connect } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { join } from 'node:path';
import { type Client, type ClientDuplexStream, Metadata } from '@grpc/grpc-js';
import { startLimits, type Rule } from '#limiter';
import { burst, ruleOf } from '#limiter/testing';
import { ROOT } from '../../../scripts/paths.mjs';
import { until } from '../../support/until.js';
import { Flag, frame, FrameType, headerBlock, PREFACE, settings } from '../../support/http2-frames.js';
import { clientOf, framed, reflected, sendBytes as send, serviceOf, unary } from '../../support/grpc-client.js';
import { type Doors, MemoryEnforcer, openDoors, TOKEN } from './doors.js';

const enforcer = new MemoryEnforcer();
let doors: Doors;
let client: Client;
const decisions = serviceOf('tollgate/v1/decision.proto', 'tollgate.v1.DecisionService');
const packages = join(ROOT, 'node_modules');
const health = serviceOf('health/v1/health.proto', 'grpc.health.v1.Health', join(packages, 'grpc-health-check/proto'));
const CHECK = '/tollgate.v1.DecisionService/Check';
const metadata = new Metadata();
metadata.set('authorization', `Bearer ${TOKEN}`);

const rule = (changes: Partial<Rule> = {}): Rule =>
  ruleOf('17', {
    name: 'payments',
    limits: startLimits([burst({ capacity: 3, refillTokens: 1, refillIntervalMs: 60_000 })], 0),
    ...changes,
  });

/** By somebody who may ask. */
const sendBytes = (port: number, path: string, bytes: Uint8Array, headers: Record<string, string> = {}) =>
  send(port, path, bytes, { authorization: `Bearer ${TOKEN}`, ...headers });

beforeAll(async () => {
  doors = await openDoors(enforcer);
  client = clientOf(doors.port);
});
beforeEach(() => {
  for (const id of ['acme', 'zeta']) enforcer.rules.set(id, [rule()]);
});
afterAll(async () => {
  client.close();
  await doors.doors.close(1_000);
  expect(doors.errors).toEqual([]);
});

/** A merchant with full buckets. */
let merchants = 0;
function newMerchant(...rules: Rule[]): string {
  const id = `m${++merchants}`;
  enforcer.rules.set(id, rules.length === 0 ? [rule()] : rules);
  return id;
}

const call = (method: string, message: object, given = metadata, options = {}) => unary(client, decisions, method, message, given, options);
const check = (message: object) => call('Check', message);
const left = async (merchant: string): Promise<number> => (await check({ merchant, cost: 0 })).limits[0].remaining as number;

describe('Check', () => {
  it('says what passes, what is left, and what does not pass until when', async () => {
    const merchant = newMerchant();
    expect(await check({ merchant, cost: 3 })).toMatchObject({
      allowed: true,
      reason: 'allowed',
      status: 200,
      limit: { rule: '17', name: 'burst', allowed: true, limit: 3 },
    });
    expect(await check({ merchant })).toMatchObject({
      allowed: false,
      reason: 'over_limit',
      status: 429,
      retryAfter: { seconds: 60 },
      limits: [{ rule: '17', name: 'burst', limit: 3, resetAfter: { seconds: 180 } }],
      headers: [expect.anything(), { name: 'RateLimit', value: '"burst";r=0;t=60' }],
    });
    expect(await check({ merchant: 'nobody' })).toMatchObject({ reason: 'unknown_merchant', status: 403 });
  });

  it('tells rules all fields of a request', async () => {
    const all = [
      { field: 'user', equals: 'ann' },
      { field: 'ip', inRanges: ['192.0.2.0/24'] },
      { field: 'country', equals: 'DE' },
      { field: 'host', equals: 'api.example' },
      { field: 'header.x-channel', in: ['app'] },
      { field: 'apiKey', equals: '3' },
      { field: 'apiKey.label.team', equals: 'web' },
      { field: 'jwt.scope', contains: 'pay' },
      { field: 'body.items.price', atLeast: 12.5 },
    ];
    const merchant = newMerchant(rule({ match: { methods: ['POST'], paths: ['/pay'], all } }));
    const request = {
      merchant,
      user: 'ann',
      ip: '192.0.2.7',
      country: 'DE',
      host: 'api.example:443',
      method: 'POST',
      path: '/pay?x=1',
      apiKey: { id: '3', labels: { team: 'web' } },
      headers: [
        { name: 'X-Channel', value: 'web' },
        { name: 'X-Channel', value: 'app' },
      ],
      jwt: { fields: { scope: { stringValue: 'payments' } } },
      body: {
        structValue: { fields: { items: { listValue: { values: [{ structValue: { fields: { price: { numberValue: 12.5 } } } }] } } } },
      },
    };
    expect(await check(request)).toMatchObject({ reason: 'allowed', limits: [{ rule: '17' }] });
    expect(await check({ ...request, user: 'bob' })).toMatchObject({ reason: 'no_matching_rule' });
  });

  it('names the fields that are wrong, for programs too', async () => {
    const error = await check({ merchant: 'acme', ip: 'nowhere', method: 'p' });
    expect(error).toMatchObject({ code: 3, details: '2 fields of the body are wrong' });
    const [details] = error.metadata.get('grpc-status-details-bin') as Buffer[];
    for (const words of ['google.rpc.BadRequest', '/ip', '/method', 'body.invalid']) expect(details!.includes(words)).toBe(true);
    expect(await check({ merchant: '' })).toMatchObject({ code: 3 });
    expect(await check({ merchant: 'acme', path: '/a/../b' })).toMatchObject({ code: 3 });
  });

  it('answers by the names of Python and Go, too: fields that it does not know are passed over', async () => {
    // merchant = "zeta", and field 1000 with a text.
    const bytes = Buffer.concat([Buffer.from([0x0a, 4]), Buffer.from('zeta'), Buffer.from([0xc2, 0x3e, 2]), Buffer.from('xx')]);
    expect(await sendBytes(doors.port, CHECK, framed(bytes))).toEqual({ status: 200, grpc: '0' });
  });
});

describe('claims', () => {
  it('give back once what a decision took', async () => {
    const merchant = newMerchant();
    const { claim } = await check({ merchant, cost: 2, wantClaim: true });
    expect(await left(merchant)).toBe(1);
    expect(await call('Refund', { claim })).toEqual({ outcome: 'CLAIM_OUTCOME_REFUNDED' });
    expect(await left(merchant)).toBe(3);
    expect(await call('Refund', { claim })).toEqual({ outcome: 'CLAIM_OUTCOME_NOT_FOUND' });
    const { claim: second } = await check({ merchant, wantClaim: true });
    const answer = { status: 402, headers: [{ name: 'x-outcome', value: 'declined' }], body: { structValue: { fields: {} } } };
    expect(await call('Settle', { claim: second, answer })).toEqual({ outcome: 'CLAIM_OUTCOME_SETTLED' });
    expect(await call('Settle', { claim: 'x' })).toMatchObject({ code: 3 });
  });
});

describe('CheckStream', () => {
  const open = (given = metadata, by = client): ClientDuplexStream<object, object> => {
    const { path, requestSerialize, responseDeserialize } = decisions['CheckStream']!;
    return by.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, given);
  };
  async function answersOf(requests: readonly object[], by = client): Promise<Record<string, unknown>[]> {
    const stream = open(metadata, by);
    const answers: Record<string, unknown>[] = [];
    stream.on('data', (answer: Record<string, unknown>) => answers.push(answer));
    stream.on('error', () => {});
    for (const request of requests) stream.write(request);
    stream.end();
    await new Promise((resolve) => stream.on('status', resolve));
    return answers.sort((a, b) => Number(a['id']) - Number(b['id']));
  }

  it('answers each message by its id, also one that is wrong', async () => {
    const merchant = newMerchant();
    const answers = await answersOf([
      ...[1, 2, 3, 4].map((id) => ({ id, request: { merchant } })),
      { id: 5 },
      { id: 6, request: { merchant, ip: 'nowhere' } },
    ]);
    expect(answers.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(answers.filter(({ response }) => (response as { allowed?: boolean } | undefined)?.allowed)).toHaveLength(3);
    expect(answers.slice(4)).toMatchObject([{ error: { code: 3 } }, { error: { code: 3 } }]);
  });

  it('takes many messages, a bounded number of them at a time', async () => {
    const merchant = newMerchant();
    const answers = await answersOf(Array.from({ length: 200 }, (_, i) => ({ id: i + 1, request: { merchant } })));
    expect(answers).toHaveLength(200);
    expect(answers.filter(({ response }) => (response as { allowed?: boolean }).allowed)).toHaveLength(3);
  });

  it('answers what is over the limit of its caller with an error of its own, and goes on', async () => {
    const narrow = await openDoors(enforcer, { callerPerSecond: 2 });
    const other = clientOf(narrow.port);
    const merchant = newMerchant();
    const answers = await answersOf(
      [1, 2, 3, 4].map((id) => ({ id, request: { merchant } })),
      other,
    );
    expect(answers).toMatchObject([
      { response: { allowed: true } },
      { response: { allowed: true } },
      { error: { code: 8 } },
      { error: { code: 8 } },
    ]);
    expect(enforcer.levelOf(merchant)).toBe(1);
    other.close();
    await narrow.doors.close(1_000);
  });

  it('is not opened to strangers', async () => {
    const stream = open(new Metadata());
    const status = await new Promise((resolve) =>
      stream
        .on('status', resolve)
        .on('error', () => {})
        .on('data', () => {}),
    );
    expect(status).toMatchObject({ code: 16 });
  });
});

describe('who may ask', () => {
  it('is known by a token', async () => {
    expect(await call('Check', { merchant: 'acme' }, new Metadata())).toMatchObject({ code: 16 });
    const wrong = new Metadata();
    wrong.set('authorization', 'Bearer another-token-of-nobody');
    expect(await call('Check', { merchant: 'acme' }, wrong)).toMatchObject({ code: 16 });
    const own = new Metadata();
    own.set('x-tollgate-token', TOKEN);
    expect(await call('Check', { merchant: 'acme' }, own)).toMatchObject({ reason: 'allowed' });
  });

  it('is limited itself', async () => {
    const narrow = await openDoors(enforcer, { callerPerSecond: 2 });
    const other = clientOf(narrow.port);
    const merchant = newMerchant();
    const ask = () => unary(other, decisions, 'Check', { merchant }, metadata);
    const answers = [await ask(), await ask(), await ask()];
    expect(answers.slice(0, 2)).toEqual([expect.objectContaining({ allowed: true }), expect.objectContaining({ allowed: true })]);
    const refused = answers.slice(2);
    expect(refused[0]).toMatchObject({ code: 8 });
    expect((refused[0].metadata.get('grpc-status-details-bin')[0] as Buffer).includes('google.rpc.RetryInfo')).toBe(true);
    other.close();
    await narrow.doors.close(1_000);
  });
});

describe('a deadline', () => {
  it.each(['0n', '0m', '0S', '1n'])('of %s is one that has passed, and nothing is taken', async (timeout) => {
    const merchant = newMerchant();
    const bytes = Buffer.concat([Buffer.from([0x0a, merchant.length]), Buffer.from(merchant)]);
    expect(await sendBytes(doors.port, CHECK, framed(bytes), { 'grpc-timeout': timeout })).toMatchObject({ grpc: '4' });
    expect(await left(merchant)).toBe(3);
  });

  it.each(['0n', '1n'])('of %s of a stream is one that has passed, and nothing is taken', async (timeout) => {
    const merchant = newMerchant();
    const { path, requestSerialize } = decisions['CheckStream']!;
    const bytes = requestSerialize({ id: 1, request: { merchant } });
    expect(await sendBytes(doors.port, path, framed(bytes), { 'grpc-timeout': timeout })).toMatchObject({ grpc: '4' });
    expect(await left(merchant)).toBe(3);
  });

  it.each(['Check', 'CheckStream'])(
    'that passes while %s is decided is told, although no timer has run yet: what was taken is given back',
    async (name) => {
      const merchant = newMerchant();
      const busy = new MemoryEnforcer();
      busy.rules.set(merchant, [rule()]);
      busy.check = (descriptor, answer) =>
        busy.checked(descriptor, (outcome) => {
          // Nothing else runs meanwhile.
          for (const untilMs = performance.now() + 101; performance.now() < untilMs;);
          answer(outcome);
        });
      const slow = await openDoors(busy);
      const { path, requestSerialize } = decisions[name]!;
      const bytes = requestSerialize(name === 'Check' ? { merchant } : { id: 1, request: { merchant } });
      expect(await sendBytes(slow.port, path, framed(bytes), { 'grpc-timeout': '100m' })).toMatchObject({ grpc: '4' });
      expect(busy.levelOf(merchant)).toBe(3);
      await slow.doors.close(1_000);
    },
  );

  it('that passes while the call waits ends it, and what is taken then is given back', async () => {
    const merchant = newMerchant();
    const late = new MemoryEnforcer();
    late.rules.set(merchant, [rule()]);
    let answered = (): void => {};
    late.check = (descriptor, answer) => late.checked(descriptor, (outcome) => (answered = () => answer(outcome)));
    const slow = await openDoors(late);
    const bytes = Buffer.concat([Buffer.from([0x0a, merchant.length]), Buffer.from(merchant)]);
    const asked = sendBytes(slow.port, CHECK, framed(bytes), { 'grpc-timeout': '300m' });
    await until(() => late.levelOf(merchant) === 2);
    expect(await asked).toMatchObject({ grpc: '4' });
    answered();
    await until(() => late.levelOf(merchant) === 3);
    expect(slow.counts).toEqual([`${CHECK} 200`]);
    await slow.doors.close(1_000);
  });

  it('that is none is an error', async () => {
    expect(await sendBytes(doors.port, CHECK, framed(Buffer.alloc(0)), { 'grpc-timeout': 'soon' })).toMatchObject({ grpc: '13' });
  });
});

it('what was taken for a caller that has left meanwhile is given back', async () => {
  const merchant = newMerchant();
  const late = new MemoryEnforcer();
  late.rules.set(merchant, [rule()]);
  let answered = (): void => {};
  late.check = (descriptor, answer) => late.checked(descriptor, (outcome) => (answered = () => answer(outcome)));
  const slow = await openDoors(late);
  const other = clientOf(slow.port);
  const { path, requestSerialize, responseDeserialize } = decisions['Check']!;
  const asked = other.makeUnaryRequest(path, requestSerialize, responseDeserialize, { merchant }, metadata, () => {});
  await until(() => late.levelOf(merchant) === 2);
  asked.cancel();
  // What comes behind it on the same connection has been answered, so the end of the call has been read.
  expect(await unary(other, health, 'Check', { service: '' }, new Metadata())).toEqual({ status: 'SERVING' });
  answered();
  await until(() => late.levelOf(merchant) === 3);
  other.close();
  await slow.doors.close(1_000);
});

describe('what is no call', () => {
  const nested = (levels: number): Buffer => {
    let value: Buffer = Buffer.from([0x08, 0]);
    for (let i = 0; i < levels; i++) value = lengthed(0x32, lengthed(0x0a, value));
    return Buffer.concat([lengthed(0x0a, Buffer.from('acme')), lengthed(0x5a, value)]);
  };
  const lengthed = (tag: number, bytes: Buffer): Buffer => {
    const length: number[] = [];
    for (let rest = bytes.length; ; rest >>>= 7) {
      length.push(rest > 0x7f ? (rest & 0x7f) | 0x80 : rest);
      if (rest <= 0x7f) break;
    }
    return Buffer.concat([Buffer.from([tag, ...length]), bytes]);
  };

  it.each<[string, Buffer, Record<string, string>, object]>([
    ['an empty message', framed(Buffer.alloc(0)), {}, { grpc: '3' }],
    [
      'bytes that are no message',
      framed(Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])),
      {},
      { grpc: '13' },
    ],
    ['a text longer than the message', framed(Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x61])), {}, { grpc: '13' }],
    ['a text of 2^63 bytes', framed(Buffer.from('0a80808080808080808001', 'hex')), {}, { grpc: '13' }],
    ['a field of the wrong kind', framed(Buffer.from([0x08, 1])), {}, {}],
    ['a group that never ends', framed(Buffer.from([0x0b, 0x0b, 0x0b])), {}, {}],
    ['a message that announces 4 GiB', framed(Buffer.from([1]), { length: 0xffff_ffff }), {}, { grpc: '8' }],
    ['a message larger than any call', framed(Buffer.alloc(300_000)), {}, { grpc: '8' }],
    ['less than announced', framed(Buffer.from([0x0a]), { length: 100 }), {}, {}],
    ['nothing', Buffer.alloc(0), {}, {}],
    ['half a head', Buffer.from([0, 0]), {}, {}],
    ['two messages', Buffer.concat([framed(Buffer.alloc(0)), framed(Buffer.alloc(0))]), {}, {}],
    ['an unknown compression', framed(Buffer.from([1]), { compressed: 1 }), { 'grpc-encoding': 'br' }, { grpc: '12' }],
    ['a broken compression', framed(Buffer.from([1]), { compressed: 1 }), { 'grpc-encoding': 'gzip' }, {}],
    ['a text that is no UTF-8', framed(Buffer.from([0x0a, 2, 0xc3, 0x28])), {}, { grpc: '13' }],
    ['a body that is nested 100 levels deep', framed(nested(100)), {}, { grpc: '13' }],
    ['a body that is nested 20000 levels deep', framed(nested(20_000)), {}, {}],
    ['another content type', framed(Buffer.alloc(0)), { 'content-type': 'text/plain' }, { status: 415 }],
  ])('%s is an error, and the next call is answered', async (_, bytes, headers, expected) => {
    const answer = await sendBytes(doors.port, CHECK, bytes, headers);
    expect(answer).toMatchObject(expected);
    expect(answer.grpc).not.toBe('0');
    expect(await check({ merchant: newMerchant() })).toMatchObject({ allowed: true });
  });

  it('is told so in words of our own', async () => {
    const answer = await sendBytes(doors.port, CHECK, framed(Buffer.from([0xff])));
    expect(answer).toEqual({ status: 200, grpc: '13', message: encodeURI('the message cannot be read') });
  });

  it('another path is no method', async () => {
    expect(await sendBytes(doors.port, '/tollgate.v1.DecisionService/Nothing', framed(Buffer.alloc(0)))).toMatchObject({ grpc: '12' });
  });

  it('too many calls at once are refused one by one', async () => {
    const narrow = await openDoors(enforcer, { maxInFlight: 0 });
    const other = clientOf(narrow.port);
    expect(await unary(other, decisions, 'Check', { merchant: 'acme' }, metadata)).toMatchObject({ code: 14 });
    expect(narrow.counts).toEqual([`${CHECK} 503`]);
    other.close();
    await narrow.doors.close(1_000);
  });
});

describe('a connection', () => {
  const path = decisions['CheckStream']!.path;
  const headers = {
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: `Bearer ${TOKEN}`,
  };

  it('without calls is ended after a while, and one with a stream or with calls is not', async () => {
    const idle = await openDoors(enforcer, { silence: { askEveryMs: 60_000, answerWithinMs: 60_000, idleMs: 500 } });
    const sessionTo = () => connect(`http://127.0.0.1:${idle.port}`);
    const [silent, streaming] = [sessionTo(), sessionTo()];
    const stream = streaming.request(headers);
    stream.write(framed(decisions['CheckStream']!.requestSerialize({ id: 1, request: { merchant: newMerchant() } })));
    await once(stream, 'data');
    let [isOver, callsAfterEnd] = [false, 0];
    void once(silent, 'close').then(() => (isOver = true));
    const calling = sessionTo();
    let toldToGo = false;
    for (const session of [streaming, calling]) session.on('goaway', () => (toldToGo = true));
    while (callsAfterEnd < 20) {
      const call = calling.request({ ...headers, ':path': CHECK });
      call.end(framed(decisions['Check']!.requestSerialize({ merchant: 'acme', cost: 0 })));
      await once(call.resume(), 'end');
      if (isOver) callsAfterEnd++;
    }
    expect([toldToGo, stream.closed]).toEqual([false, false]);
    stream.end();
    await once(stream.resume(), 'end');
    await Promise.all([streaming, calling].map((session) => once(session, 'close')));
    await idle.doors.close(1_000);
  });

  it('on which nobody answers is cut, with the stream that it carries', async () => {
    const strict = await openDoors(enforcer, { silence: { askEveryMs: 100, answerWithinMs: 100, idleMs: 60_000 } });
    const socket = connectSocket(strict.port, '127.0.0.1');
    socket.on('error', () => {});
    // Opens a connection and a stream, and answers no PING.
    const opening = Object.entries({ ...headers, ':scheme': 'http', ':authority': 'x' }).sort(([a], [b]) => (a < b ? -1 : 1));
    socket.write(Buffer.concat([PREFACE, settings(), frame(FrameType.headers, Flag.endHeaders, 1, headerBlock(opening))]));
    await once(socket.resume(), 'close');
    await strict.doors.close(1_000);
  });
});

describe('health and reflection', () => {
  const asked = (service: string) => unary(client, health, 'Check', { service }, new Metadata());

  it('say without a token what is served', async () => {
    for (const name of [
      '',
      'tollgate.v1.DecisionService',
      'envoy.service.ratelimit.v3.RateLimitService',
      'envoy.service.auth.v3.Authorization',
    ])
      expect(await asked(name)).toEqual({ status: 'SERVING' });
    expect(await asked('nobody')).toMatchObject({ code: 5 });
  });

  it('tell a watcher when it changes, and forget one that has left', async () => {
    const ending = await openDoors(enforcer);
    const other = clientOf(ending.port);
    const { path, requestSerialize, responseDeserialize } = health['Watch']!;
    const watch = () => other.makeServerStreamRequest(path, requestSerialize, responseDeserialize, { service: '' }, new Metadata(), {});
    const heard: unknown[] = [];
    const [staying, leaving] = [watch(), watch()];
    for (const stream of [staying, leaving]) stream.on('error', () => {});
    staying.on('data', (message) => heard.push(message));
    await Promise.all([once(staying, 'data'), once(leaving, 'data')]);
    leaving.cancel();
    ending.doors.drain();
    await until(() => heard.length === 2);
    expect(heard).toEqual([{ status: 'SERVING' }, { status: 'NOT_SERVING' }]);
    other.close();
    await ending.doors.close(1_000);
  });

  it('list the services, with their messages', async () => {
    const { services, file } = await reflected(client);
    expect(services).toEqual(
      expect.arrayContaining(['tollgate.v1.DecisionService', 'envoy.service.ratelimit.v3.RateLimitService', 'grpc.health.v1.Health']),
    );
    // As clients in Go demand it: a whole name, and the file in which it is.
    for (const text of ['.tollgate.v1.CheckStreamRequest', '.google.protobuf.Struct', 'google/protobuf/struct.proto'])
      expect(file.includes(text)).toBe(true);
  });

  it('say that nothing is served any more when the process drains, and calls go on', async () => {
    const ending = await openDoors(enforcer);
    const other = clientOf(ending.port);
    ending.doors.drain();
    expect(await unary(other, health, 'Check', { service: '' }, new Metadata())).toEqual({ status: 'NOT_SERVING' });
    expect(await unary(other, decisions, 'Check', { merchant: newMerchant() }, metadata)).toMatchObject({ allowed: true });
    const stream = other.makeBidiStreamRequest(
      decisions['CheckStream']!.path,
      decisions['CheckStream']!.requestSerialize,
      decisions['CheckStream']!.responseDeserialize,
      metadata,
    );
    const ended = new Promise((resolve) =>
      stream
        .on('status', resolve)
        .on('error', () => {})
        .on('data', () => {}),
    );
    stream.write({ id: 1, request: { merchant: newMerchant() } });
    await new Promise((resolve) => stream.once('data', resolve));
    await ending.doors.close(5_000);
    expect(await ended).toMatchObject({ code: 14 });
    other.close();
  });
});
