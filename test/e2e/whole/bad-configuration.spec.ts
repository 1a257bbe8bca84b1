import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleOf } from '../../../scripts/paths.mjs';
import type { AppName } from '../../support/processes.js';

const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

function temporary(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `tollgate-test-${name}-`));
  folders.push(folder);
  return folder;
}

test.each<[AppName, readonly string[]]>([
  ['rules-api', ['DATABASE_URL', 'TOLLGATE_ADMIN_TOKEN', 'LOG_LEVEL']],
  ['preloader', ['DATABASE_URL', 'REDIS_URL', 'QUEUE_REDIS_URL', 'LOG_LEVEL']],
  ['gateway', ['DATABASE_URL', 'REDIS_URL', 'UPSTREAM_URL', 'LOG_LEVEL']],
])('the %s exits with code 2 and names %j when they are missing or wrong', (app, variables) => {
  const env = { PATH: process.env['PATH'], LOG_LEVEL: 'loud', QUEUE_REDIS_URL: 'http://queue' };
  const { status, stderr } = spawnSync(process.execPath, [bundleOf(app)], { env, encoding: 'utf8' });
  expect(status).toBe(2);
  expect(stderr.match(/^ {2}[A-Z_]+(?=:)/gm)?.map((name) => name.trim())).toEqual(variables);
});

test('the gateway exits with code 2 and one line, which names the variable and the file, when its certificate is no certificate', () => {
  const folder = temporary('certificate');
  const [cert, key] = ['cert.pem', 'key.pem'].map((name) => join(folder, name));
  for (const path of [cert!, key!]) writeFileSync(path, 'secret');
  const env = {
    PATH: process.env['PATH'],
    DATABASE_URL: 'postgres://127.0.0.1:1/x',
    REDIS_URL: 'redis://127.0.0.1:1',
    UPSTREAM_URL: 'http://127.0.0.1:1',
    GATEWAY_TLS_CERT: cert,
    GATEWAY_TLS_KEY: key,
  };
  const { status, stderr, stdout } = spawnSync(process.execPath, [bundleOf('gateway')], { env, encoding: 'utf8' });
  expect([status, stderr, stdout]).toEqual([2, `GATEWAY_TLS_CERT ${cert} has no certificate in PEM\n`, '']);
});

test('the gateway exits with code 2 and names the line and the field when its routes are wrong', () => {
  const file = join(temporary('routes'), 'routes.yaml');
  writeFileSync(file, 'version: 1\nupstreams:\n  - { name: a, addresses: [ftp://x] }\nroutes:\n  - { name: a, upstream: a }\n');
  const env = {
    PATH: process.env['PATH'],
    DATABASE_URL: 'postgres://127.0.0.1:1/x',
    REDIS_URL: 'redis://127.0.0.1:1',
    GATEWAY_ROUTES_FILE: file,
  };
  const { status, stderr } = spawnSync(process.execPath, [bundleOf('gateway')], { env, encoding: 'utf8' });
  expect(status).toBe(2);
  expect(stderr).toMatch(/^GATEWAY_ROUTES_FILE .*routes\.yaml is not usable:\n {2}line 3: \/upstreams\/0\/addresses\/0 must be an http/);
});

test.each<[AppName, string]>([
  ['rules-api', 'RULES_API_PORT'],
  ['gateway', 'GATEWAY_PORT'],
  ['gateway', 'GATEWAY_MANAGEMENT_PORT'],
  ['preloader', 'PRELOADER_MANAGEMENT_PORT'],
  ['decision-api', 'DECISION_API_GRPC_PORT'],
])('the %s ends with a line that names the port when that of %s is taken', async (app, variable) => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as { port: number };
  const ports = [
    'RULES_API',
    'GATEWAY',
    'GATEWAY_MANAGEMENT',
    'PRELOADER_MANAGEMENT',
    'DECISION_API',
    'DECISION_API_GRPC',
    'DECISION_API_MANAGEMENT',
  ];
  const env = {
    PATH: process.env['PATH'],
    DATABASE_URL: 'postgres://127.0.0.1:1/x',
    REDIS_URL: 'redis://127.0.0.1:1',
    UPSTREAM_URL: 'http://127.0.0.1:1',
    TOLLGATE_ADMIN_TOKEN: 'a-token-that-is-long-enough-for-it',
    ...Object.fromEntries(ports.map((name) => [`${name}_PORT`, '0'])),
    [variable]: String(port),
  };
  const [code, output] = await new Promise<[unknown, string]>((resolve) => {
    execFile(process.execPath, [bundleOf(app)], { env, timeout: 60_000 }, (error, stdout, stderr) =>
      resolve([error?.code, stdout + stderr]),
    );
  });
  taken.close();
  expect(output).toContain(`"port ${port} of 127.0.0.1 is taken by another process: end that, or set another port"`);
  expect(code).toBe(1);
});
