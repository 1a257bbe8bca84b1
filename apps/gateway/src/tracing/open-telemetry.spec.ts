import { attributesOf, traceReceiver, type TraceReceiver } from '../../../../test/support/trace-receiver.js';
import { until } from '../../../../test/support/until.js';
import { Tracing } from './open-telemetry.js';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const PARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`;
const ENDED = { method: 'GET', target: '/cards?number=4111', requestId: 'r-1', merchant: 'acme', outcome: 'forwarded', status: 200 };

let receiver: TraceReceiver;
const started: Tracing[] = [];
const said: unknown[][] = [];
const say = (...line: unknown[]): void => void said.push(line);

beforeAll(async () => {
  receiver = await traceReceiver();
});

afterEach(async () => {
  receiver.silent = false;
  for (const tracing of started.splice(0)) await tracing.stop();
});

afterAll(() => receiver.close());

function tracing({ ratio = 1, collector = receiver.url } = {}): Tracing {
  const made = new Tracing({
    collector: new URL(collector),
    headers: { authorization: 'Basic c2VjcmV0' },
    ratio,
    logger: { warn: say, info: say } as never,
  });
  started.push(made);
  return made;
}

/** What the upstream is told, and the trace if it is kept. */
function forwarded(made: Tracing, headers: readonly string[], trusted = true) {
  const trace = made.begin(headers, trusted);
  const sent: string[] = [];
  trace.forwarding(sent);
  trace.ended(ENDED);
  const at = (name: string) => sent[sent.indexOf(name) + 1] ?? '';
  const [, traceId, spanId, flags] = at('traceparent').split('-');
  return { traceId, spanId, flags, tracestate: sent.includes('tracestate') ? at('tracestate') : undefined, keptTraceId: trace.keptTraceId };
}

test('a trace of a trusted peer goes on under the id of a new span, with its tracestate', () => {
  const sent = forwarded(tracing({ ratio: 0 }), ['TraceParent', PARENT, 'tracestate', 'a=1', 'TraceState', 'b=2']);
  expect(sent).toMatchObject({ traceId: TRACE_ID, flags: '01', tracestate: 'a=1,b=2', keptTraceId: TRACE_ID });
  expect(sent.spanId).not.toBe('b7ad6b7169203331');
});

test('a trace that a trusted peer has not sampled is not sampled', () => {
  const sent = forwarded(tracing(), ['traceparent', PARENT.replace(/01$/, '00')]);
  expect(sent).toMatchObject({ traceId: TRACE_ID, flags: '00', keptTraceId: undefined });
});

test.each([
  ['no hexadecimal number', ['traceparent', `00-${'g'.repeat(32)}-b7ad6b7169203331-01`]],
  ['nothing but zeros', ['traceparent', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`]],
  ['too long', ['traceparent', `${PARENT}-more`]],
  ['there twice', ['traceparent', PARENT, 'Traceparent', PARENT]],
  ['beside a tracestate of 16 KB', ['traceparent', PARENT, 'tracestate', `a=${'x'.repeat(16_000)}`]],
])('a traceparent that is %s begins a new trace', (_what, headers) => {
  const { traceId, tracestate } = forwarded(tracing(), headers);
  expect(traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(traceId).not.toBe(TRACE_ID);
  expect(tracestate).toBeUndefined();
});

test('a client that is not trusted decides neither the id of a trace nor whether it is kept', () => {
  const none = forwarded(tracing({ ratio: 0 }), ['traceparent', PARENT], false);
  expect(none).toMatchObject({ flags: '00', keptTraceId: undefined });
  expect(none.traceId).not.toBe(TRACE_ID);
});

test('the collector gets the spans with headers of its own, without query, and a link to a trace that was not continued', async () => {
  const made = tracing();
  const { keptTraceId } = forwarded(made, ['traceparent', PARENT], false);
  await made.stop();
  const spans = receiver.spans.filter(({ traceId }) => traceId === keptTraceId);
  expect(spans.map(({ name }) => name).sort()).toEqual(['request', 'upstream']);
  const request = spans.find(({ name }) => name === 'request')!;
  expect(attributesOf(request)).toMatchObject({ 'url.path': '/cards', 'tollgate.merchant': 'acme', 'tollgate.request_id': 'r-1' });
  expect(request.links?.map(({ traceId }) => traceId)).toEqual([TRACE_ID]);
  expect(receiver.headers.at(-1)?.authorization).toBe('Basic c2VjcmV0');
  expect(made.counts).toMatchObject({ exported: 2, failed: 0, dropped: 0, waiting: 0 });
});

test('a collector that answers nothing costs spans, which are counted, and never more memory than 4,096 take', async () => {
  receiver.silent = true;
  const made = tracing();
  for (let i = 0; i < 10_000; i++) made.begin([], true).ended(ENDED);
  await until(() => expect(made.counts.waiting).toBeLessThanOrEqual(4096));
  expect(made.counts.dropped).toBeGreaterThanOrEqual(10_000 - 4096 - 512);
  const before = performance.now();
  await made.stop();
  expect(performance.now() - before).toBeLessThan(8_000);
});

test('a collector that is away costs spans, which are counted, and the log says why', async () => {
  said.length = 0;
  const made = tracing({ collector: 'http://127.0.0.1:1' });
  forwarded(made, []);
  await made.stop();
  await until(() => expect(made.counts.failed).toBe(2), 10_000);
  expect(said).toEqual([
    [expect.objectContaining({ collector: 'http://127.0.0.1:1', code: 'ECONNREFUSED' }), 'the collector takes no traces'],
  ]);
});

test('a collector that refuses is named in the log with the status that it answers', async () => {
  said.length = 0;
  const made = tracing({ collector: `${receiver.url}/elsewhere` });
  forwarded(made, []);
  await made.stop();
  await until(() => expect(made.counts.failed).toBe(2));
  expect(said).toEqual([[expect.objectContaining({ code: 404, reason: 'Not Found' }), 'the collector takes no traces']]);
});
