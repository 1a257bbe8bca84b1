import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { npmStart, ownPlace, type Place } from '../../support/npm-start.js';

/** What it said, once it has ended by itself, and that it started nothing. */
async function outcome(
  place: Place,
  env: Record<string, string> = {},
  args: string[] = [],
): Promise<{ code: number | null; output: string }> {
  const run = npmStart({ ...place.env, ...env }, args);
  const code = await run.exited;
  expect(existsSync(join(place.directory, 'postgres'))).toBe(false);
  return { code, output: run.output() };
}

describe('npm start says plainly why it does not start', () => {
  let place: Place;
  beforeEach(async () => {
    place = await ownPlace();
  });
  afterEach(() => place.remove());

  it('--help explains, and an unknown option is named', async () => {
    const help = await outcome(place, {}, ['--help']);
    expect(help.code).toBe(0);
    expect(help.output).toContain('TOLLGATE_DATA_DIR');
    const unknown = await outcome(place, {}, ['--frehs']);
    expect(unknown.code).toBe(2);
    expect(unknown.output).toContain('does not know --frehs');
  });

  it('a taken port: which, by whom, and the variable that moves it', async () => {
    // A port of the system's choice, because one that was only chosen may be somebody else's by now.
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const port = String((server.address() as AddressInfo).port);
    const { code, output } = await outcome(place, { GATEWAY_PORT: port });
    await new Promise((resolve) => server.close(resolve));
    expect(code).toBe(1);
    expect(output).toContain(`Port ${port}, for the gateway, is taken`);
    expect(output).toContain('Set GATEWAY_PORT to a free one');
    if (process.platform === 'linux') expect(output).toContain(`by process ${process.pid}`);
  });

  it('one port for two things', async () => {
    const { code, output } = await outcome(place, { GATEWAY_MANAGEMENT_PORT: place.env['GATEWAY_PORT'] ?? '' });
    expect(code).toBe(1);
    expect(output).toContain('Set GATEWAY_MANAGEMENT_PORT or GATEWAY_PORT to another one');
  });

  it('bad variables: all of them at once, without their secrets', async () => {
    const { code, output } = await outcome(place, {
      GATEWAY_PORT: '80800',
      RULES_API_PORT: 'three',
      UNKNOWN_MERCHANT: 'perhaps',
      TRUSTED_PROXIES: '10.0.0.0/99',
      UPSTREAM_URL: 'ftp://example.org',
      TOLLGATE_ADMIN_TOKEN: 'too-short',
      REDIS_URL: 'http://127.0.0.1',
    });
    expect(code).toBe(2);
    for (const name of [
      'GATEWAY_PORT',
      'RULES_API_PORT',
      'UNKNOWN_MERCHANT',
      'TRUSTED_PROXIES',
      'UPSTREAM_URL',
      'TOLLGATE_ADMIN_TOKEN',
      'REDIS_URL',
    ]) {
      expect(output).toMatch(new RegExp(`^  ${name}: expected `, 'm'));
    }
    expect(output).not.toContain('too-short');
  });

  it('a database or a Redis that cannot be reached: where, and which variable', async () => {
    const database = await outcome(place, { DATABASE_URL: 'postgres://me:secret@127.0.0.1:1/rules' });
    expect(database.code).toBe(1);
    expect(database.output).toMatch(/PostgreSQL cannot be reached at postgres:\/\/127\.0\.0\.1:1\/rules \(DATABASE_URL\): .*ECONNREFUSED/);
    const redis = await outcome(place, { DATABASE_URL: 'postgres://me:secret@127.0.0.1:1/rules', REDIS_URL: 'redis://127.0.0.1:1' });
    expect(redis.output).toMatch(/cannot be reached/);
    expect(database.output + redis.output).not.toContain('secret');
  });
});
