/** An OpenID Connect issuer for tests: a real HTTP server that publishes real keys, and signs what a test wants. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';

export const AUDIENCE = 'tollgate';

interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

export class TestIssuer {
  /** Paths that were asked for. */
  readonly asked: string[] = [];
  /** Instead of the usual answers. */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  private keys: SigningKey[] = [];
  private made = 0;
  private readonly server = createServer((request, response) => this.serve(request, response));

  static async start(port = 0): Promise<TestIssuer> {
    const issuer = new TestIssuer();
    await issuer.addKey();
    await new Promise<void>((resolve) => issuer.server.listen(port, '127.0.0.1', resolve));
    return issuer;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/realms/ops`;
  }

  /** Publishes one more key, with which tokens are signed from now on. */
  async addKey(alg = 'ES256'): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const kid = `key ${++this.made}`;
    this.keys.push({ kid, alg, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } });
  }

  /** Publishes only the newest key from now on. */
  withdrawOlderKeys(): void {
    this.keys = this.keys.slice(-1);
  }

  /** The public key with which the newest tokens can be checked. */
  get newestKey(): JWK {
    return this.keys.at(-1)!.publicJwk;
  }

  /** A token that is good for five minutes from `atMs` on, unless the claims say otherwise; undefined takes a claim away. */
  async sign(claims: Record<string, unknown> = {}, atMs = Date.now()): Promise<string> {
    const { kid, alg, privateKey } = this.keys.at(-1)!;
    const atSeconds = Math.floor(atMs / 1000);
    const usual = { iss: this.url, aud: AUDIENCE, sub: 'alice@example.com', iat: atSeconds, exp: atSeconds + 300, roles: ['editor'] };
    const all = Object.fromEntries(Object.entries({ ...usual, ...claims }).filter(([, value]) => value !== undefined));
    return new SignJWT(all as JWTPayload).setProtectedHeader({ alg, kid }).sign(privateKey);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private serve(request: IncomingMessage, response: ServerResponse): void {
    this.asked.push(request.url ?? '');
    if (this.answer) return this.answer(request, response);
    const json = (body: unknown) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    if (request.url === '/realms/ops/.well-known/openid-configuration') json({ issuer: this.url, jwks_uri: `${this.url}/keys` });
    else if (request.url === '/realms/ops/keys') json({ keys: this.keys.map(({ publicJwk }) => publicJwk) });
    else response.writeHead(404).end();
  }
}
