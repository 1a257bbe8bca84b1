import { connect } from 'node:net';
import { ADMIN_TOKEN } from '../../support/processes.js';
import { type Api, startRulesApi } from './api.js';

describe('the admin token', () => {
  let api: Api;
  beforeAll(async () => {
    api = await startRulesApi();
  });
  afterAll(() => api.close());

  it.each<[string, string | undefined]>([
    ['no token', undefined],
    ['another token', `Bearer ${ADMIN_TOKEN}x`],
    ['half a token', `Bearer ${ADMIN_TOKEN.slice(0, -1)}`],
    ['an empty token', 'Bearer '],
    ['another scheme', `Basic ${Buffer.from(`admin:${ADMIN_TOKEN}`).toString('base64')}`],
    ['no scheme', ADMIN_TOKEN],
    ['two tokens', `Bearer ${ADMIN_TOKEN} ${ADMIN_TOKEN}`],
  ])('refuses %s', async (_name, authorization) => {
    const { status, headers, body } = await api.ask('GET', '/v1/merchants', undefined, { authorization });
    expect([status, headers.get('content-type')]).toEqual([401, 'application/problem+json']);
    expect(headers.get('www-authenticate')).toMatch(/^Bearer realm="tollgate"/);
    expect(JSON.stringify(body)).not.toContain(ADMIN_TOKEN);
  });

  it.each(['Bearer', 'bearer', 'BEARER'])('is taken with the scheme %s', async (scheme) => {
    expect((await api.ask('GET', '/v1/merchants', undefined, { authorization: `${scheme} ${ADMIN_TOKEN}` })).status).toBe(200);
  });

  it('is asked for on every route and method', async () => {
    const document = (await api.ask('GET', '/openapi.json', undefined, { authorization: undefined })).body as {
      paths: Record<string, object>;
    };
    for (const [path, operations] of Object.entries(document.paths)) {
      for (const method of Object.keys(operations)) {
        const answer = await api.ask(method.toUpperCase(), path.replace('{merchantId}', 'a').replace('{ruleId}', '1'), undefined, {
          authorization: undefined,
        });
        expect([method, path, answer.status]).toEqual([method, path, 401]);
      }
    }
  });

  it.each(['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs'])('is not needed for %s', async (path) => {
    expect((await fetch(api.app.url + path)).status).toBe(200);
  });

  /** Sends a request target as it is: fetch would tidy it. */
  async function statusOf(method: string, target: string): Promise<number> {
    const { hostname, port } = new URL(api.app.url);
    const text = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () =>
        socket.write(`${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
      );
      let received = '';
      socket.on('data', (bytes) => (received += bytes.toString()));
      socket.on('close', () => resolve(received));
      socket.on('error', reject);
    });
    return Number(text.split(' ')[1]);
  }

  it.each([
    ['HEAD', '/v1/merchants'],
    ['GET', '//v1/merchants'],
    ['GET', '/v1//merchants'],
    ['GET', '/v1/merchants/'],
    ['GET', '/V1/merchants'],
    ['GET', '/v1%2Fmerchants'],
    ['GET', '/%76%31/merchants'],
    ['GET', '/v1/merchants;x'],
    ['GET', '/healthz/../v1/merchants'],
    ['GET', '/docs/../v1/merchants'],
    ['GET', '/docs/..%2fv1/merchants'],
    ['GET', 'http://x/v1/merchants'],
    ['GET', '/v1/merchants?x=/healthz'],
    ['GET', '/v1/merchants/healthz'],
  ])('is not evaded by %s %s', async (method, target) => {
    expect([400, 401, 403, 404]).toContain(await statusOf(method, target));
  });

  it.each([undefined, 'Bearer another-token-of-the-tests'])(
    'is asked for before a body is read: with %s nobody waits for it, or parses it',
    async (authorization) => {
      const { hostname, port } = new URL(api.app.url);
      const text = await new Promise<string>((resolve, reject) => {
        const head = `POST /v1/merchants HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n`;
        // Of the body only the beginning comes, and that is no JSON.
        const socket = connect(Number(port), hostname, () =>
          socket.write(`${head}${authorization === undefined ? '' : `Authorization: ${authorization}\r\n`}\r\n}`),
        );
        socket.once('data', (bytes) => {
          resolve(bytes.toString());
          socket.destroy();
        });
        socket.on('error', reject);
      });
      expect(text).toMatch(/^HTTP\/1\.1 401 /);
      // Also for a body that would be refused for itself.
      for (const body of ['{', '['.repeat(500)]) expect((await api.ask('POST', '/v1/merchants', body, { authorization })).status).toBe(401);
    },
  );

  it('is never logged', () => {
    expect(JSON.stringify(api.app.logs)).not.toContain(ADMIN_TOKEN);
  });
});
