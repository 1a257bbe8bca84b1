/** Whatever an upstream serves as a route was limited as that route: upstreams that read paths differently, hostile targets. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import fc from 'fast-check';
import { merchantRules, type Rule } from '#limiter';
import type { PathException, PathPolicy } from '#platform';
import type { Admission, InboundRequest } from '../../../apps/gateway/src/proxy/index.js';
import { OTHER, ROUTES, UPSTREAMS, type PathReadingUpstream } from '../../support/path-readers.js';
import { rule } from '../../support/factories/rules.js';
import { startProxy, stopAll } from './proxy-harness.js';

/** What attackers write, in front of and behind a route. */
const LISTED = ROUTES.flatMap((route) => [
  `/${route}`,
  `/${route}/`,
  `/${route}/7`,
  `/${route}?a=/../graphql`,
  `/${route.toUpperCase()}/7`,
  `//${route}`,
  `/./${route}`,
  `/x/../${route}`,
  `/graphql/../${route}`,
  `/graphql/..%2f${route}`,
  `/graphql%2f..%2f${route}`,
  `/graphql/..%5c${route}`,
  `/graphql\\..\\${route}`,
  `/${route}%2f7`,
  `/${route}\\7`,
  `/${route}%5c7`,
  `/${route};a=b`,
  `/${route};a=b/7`,
  `/;/${route}`,
  `/graphql/..;/${route}`,
  `/graphql/..%3b/${route}`,
  `/${route}%3ba`,
  `/%${route.charCodeAt(0).toString(16)}${route.slice(1)}`,
  `/${route}%3fx`,
  `/${route}%23x`,
  `/${route}%00`,
  `/%2e%2e/${route}`,
  `/graphql/%252e%252e/${route}`,
  `/graphql/%252e%252e%252f${route}`,
  `/%25${route.charCodeAt(0).toString(16)}${route.slice(1)}`,
  `/graphql/..%c0%af${route}`,
  `/graphql/%c0%ae%c0%ae/${route}`,
  `/caf%e9/../${route}`,
  `/graphql%20/../${route}`,
  `/${route}%20`,
  `/${route}%0a`,
  `/.${route}`,
  `/..${route}`,
  `/objects/a%2fb`,
  `/objects/..%2f${route}`,
  `/objects/a%2f..%2f..%2f${route}`,
  `/objects%2f..%2f${route}`,
  `/objects/;a%2f..%2f..%2f${route}`,
  `/matrix/..;/${route}`,
  `/matrix/a;b/../../${route}`,
  `/matrix;/../${route}`,
  `/matrix/;/..;/..;/${route}`,
  `/matrix/a;b=%2f..%2f..%2f${route}`,
  `/${route}/..`,
  `/${route}/%2e%2e/`,
  `/${route}/..%2f`,
  `/${route}//..//`,
]);

const grammar = fc
  .array(
    fc.constantFrom(
      '/',
      '/',
      '/',
      '/',
      '.',
      '..',
      '%2e',
      '%2E%2e',
      '%2f',
      '%2F',
      '%5c',
      '\\',
      ';',
      ';a=b',
      '%3b',
      '%25',
      '%252f',
      '%252e',
      '%3f',
      '%23',
      '%c0%af',
      '%00',
      '%20',
      '%40',
      '%c3%bc',
      'x',
      ...ROUTES,
      ...ROUTES,
      'Transactions',
      '%74ransactions',
      '?',
      '?/../graphql',
    ),
    { maxLength: 9 },
  )
  .map((pieces) => `/${pieces.join('')}`);

const RANDOM = fc.sample(grammar, { seed: 8, numRuns: 500 });
const TARGETS = [...new Set([...LISTED, ...RANDOM])];

const EXCEPTIONS: readonly PathException[] = [
  { kinds: ['encoded-slashes'], pattern: '/objects/**' },
  { kinds: ['parameters'], pattern: '/matrix/**' },
];

const SETTINGS: [string, PathPolicy, readonly PathException[]][] = [
  ['strict', 'strict', []],
  ['strict with exceptions', 'strict', EXCEPTIONS],
  ['normalize', 'normalize', []],
  ['normalize with exceptions', 'normalize', EXCEPTIONS],
];

const RULES: Rule[] = ROUTES.map((route, i) => rule({ id: String(i + 1), name: route, match: { methods: [], paths: [`/${route}/**`] } }));

/** Passes everything, and says in headers by which rule and as what. */
function admitting(ignorePathCase: boolean) {
  const rules = merchantRules('acme', RULES, []);
  return ({ method, target }: InboundRequest, done: (admission: Admission) => void): void => {
    const { enforced } = rules.choose({ merchantId: 'acme', ip: '', method, target, ignorePathCase });
    done({ forward: true, responseHeaders: ['X-Limited-As', enforced[0]?.rule.name ?? OTHER, 'X-Forwarded-Target', target] });
  };
}

interface Outcome {
  status: number;
  servedAs: string | undefined;
  limitedAs: string | undefined;
  forwarded: string | undefined;
}

/** Writes targets as they are, which no HTTP client would. */
class HostileClient {
  private socket: Socket | undefined;

  constructor(private readonly port: number) {}

  async ask(target: string): Promise<Outcome> {
    const socket = (this.socket ??= await this.open());
    socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`, 'latin1');
    let text = '';
    for (let whole = false; !whole;) {
      const [chunk] = (await once(socket, 'data')) as [string];
      text += chunk;
      const head = text.indexOf('\r\n\r\n');
      whole = head >= 0 && text.length >= head + 4 + Number(/\r\nContent-Length: (\d+)/i.exec(text)?.[1] ?? 0);
    }
    if (/\r\nConnection: close/i.test(text)) this.close();
    return {
      status: Number(text.slice(9, 12)),
      servedAs: /<(\w+)>$/.exec(text)?.[1],
      limitedAs: /\r\nX-Limited-As: (\w+)/.exec(text)?.[1],
      forwarded: /\r\nX-Forwarded-Target: (\S+)/.exec(text)?.[1],
    };
  }

  close(): void {
    this.socket?.destroy();
    this.socket = undefined;
  }

  private async open(): Promise<Socket> {
    const socket = connect(this.port, '127.0.0.1').setEncoding('latin1').setNoDelay(true);
    await once(socket, 'connect');
    return socket;
  }
}

describe.each(UPSTREAMS.map((upstream) => [upstream.name, upstream] as [string, PathReadingUpstream]))(
  'in front of %s',
  (_name, upstream) => {
    let running: Awaited<ReturnType<PathReadingUpstream['start']>>;
    beforeAll(async () => {
      running = await upstream.start();
    });
    afterEach(stopAll);
    afterAll(() => running.close());

    test.each(SETTINGS)(
      'under %s, whatever is served as a route was limited as it, and nothing else was',
      async (_setting, pathPolicy, pathPolicyExceptions) => {
        const { port } = await startProxy(running.url, { pathPolicy, pathPolicyExceptions, admit: admitting(upstream.ignoresCase) });
        const client = new HostileClient(port);
        const served = new Set<string>();
        const wrong: unknown[] = [];
        for (const target of TARGETS) {
          const { status, servedAs, limitedAs, forwarded = '' } = await client.ask(target);
          if (servedAs === undefined) {
            // The policy, or the upstream itself.
            if (status !== 400) wrong.push([target, status]);
            continue;
          }
          served.add(servedAs);
          // Rules take /a/ for /a, for an upstream that does not it is another path.
          const isSlashAtEnd = servedAs === OTHER && /\/(?:\?|$)/.test(forwarded);
          if (servedAs !== limitedAs && !isSlashAtEnd) wrong.push([target, { servedAs, limitedAs }]);
        }
        client.close();
        expect(wrong).toEqual([]);
        expect([...served].sort()).toEqual([OTHER, ...ROUTES].sort());
      },
    );

    test('without the policy, some of these targets are served as a route that their text does not name', async () => {
      const client = new HostileClient(Number(running.url.port));
      let deceived = 0;
      for (const target of LISTED) {
        const { servedAs } = await client.ask(target);
        const named = ROUTES.find((route) => new RegExp(`^/${route}(?:[/?]|$)`).test(target)) ?? OTHER;
        if (servedAs !== undefined && servedAs !== OTHER && servedAs !== named) deceived++;
        if (servedAs === undefined) client.close();
      }
      client.close();
      if (upstream.name !== 'Express, strict and case sensitive') expect(deceived).toBeGreaterThan(0);
    });
  },
);
