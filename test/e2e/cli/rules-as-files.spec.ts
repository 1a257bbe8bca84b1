import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { createDataSource } from '#rules-db';
import { mainOf } from '../../../scripts/paths.mjs';
import { freePort } from '../../../scripts/ports.mjs';
import { ADMIN_TOKEN, type RunningApp, startApp } from '../../support/processes.js';
import { freshDatabase, type TestDatabase } from '../../support/services.js';

const folder = mkdtempSync(join(tmpdir(), 'tollgate-cli-e2e-'));
const login = join(folder, 'tollgate', 'login.json');
let database: TestDatabase;
let app: RunningApp;

beforeAll(async () => {
  database = await freshDatabase({ migrated: true });
  app = await startApp('rules-api', { DATABASE_URL: database.url });
});
afterAll(async () => {
  await app.stop();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs the built command line as somebody whose configuration folder is `folder`. */
function run(args: string[], { env = {}, input = '' }: { env?: Record<string, string>; input?: string } = {}): Promise<Ran> {
  return new Promise((resolve) => {
    const settings = { env: { PATH: process.env['PATH'], HOME: folder, XDG_CONFIG_HOME: folder, ...env }, cwd: folder };
    const child = execFile(process.execPath, [mainOf('cli'), ...args], settings, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
    child.stdin?.end(input);
  });
}

const inEnvironment = (env: Record<string, string> = {}) => ({ env: { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: ADMIN_TOKEN, ...env } });
/** Runs it with the address and the token in the environment. */
const tollgate = (...args: string[]) => run(args, inEnvironment());
const json = async <T>(...args: string[]): Promise<T> => JSON.parse((await tollgate(...args, '--json')).stdout) as T;

const FILE = `# What holds for Acme
version: 1
merchants:
  - id: acme
    name: Acme
    rules:
      - name: card payments
        limits: [{ name: burst, algorithm: token_bucket, capacity: 10, refillTokens: 5, refillIntervalMs: 1000 }]
defaultRules:
  - name: for all
    limits: [{ name: burst, algorithm: token_bucket, capacity: 99, refillTokens: 5, refillIntervalMs: 1000 }]
`;
const file = (text: string, name = 'rules.yaml'): string => {
  writeFileSync(join(folder, name), text);
  return name;
};

it('the built file can be run as a command, as npx does', async () => {
  const { stdout } = await promisify(execFile)(mainOf('cli'), ['--help'], { env: { PATH: process.env['PATH'] } });
  expect(stdout).toContain('apply');
});

it('a command whose reader goes away ends without a word', async () => {
  const child = spawn(process.execPath, [mainOf('cli'), 'explain', '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  let said = '';
  child.stderr.on('data', (text: Buffer) => (said += text.toString()));
  const [code] = await once(child, 'close');
  expect([code, said]).toEqual([1, '']);
});

describe('tollgate login', () => {
  it('refuses a token that the API does not know, and keeps nothing', async () => {
    const { code, stderr } = await run(['login', app.url], { input: 'a-wrong-token-of-somebody\n' });
    expect([code, stderr]).toEqual([1, expect.stringContaining('does not accept the token') as string]);
    expect(existsSync(login)).toBe(false);
  });

  it('keeps the token where only the user can read it, and shows it nowhere', async () => {
    const { code, stdout, stderr } = await run(['login', app.url], { input: `${ADMIN_TOKEN}\n` });
    expect(code).toBe(0);
    expect(stdout + stderr).not.toContain(ADMIN_TOKEN);
    expect(statSync(login).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(login, 'utf8'))).toEqual({ url: app.url, token: ADMIN_TOKEN });
    expect((await run(['get', 'merchants'])).code).toBe(0);
  });

  it('its token goes to no other address', async () => {
    const { code, stderr } = await run(['get', 'merchants'], { env: { TOLLGATE_URL: 'http://127.0.0.1:9' } });
    expect([code, stderr]).toEqual([2, expect.stringContaining('There is no token for http://127.0.0.1:9') as string]);
  });
});

describe('without a Rules API', () => {
  it('a command says how to name one', async () => {
    const { code, stderr } = await run(['get', 'merchants'], { env: { XDG_CONFIG_HOME: join(folder, 'nobody') } });
    expect([code, stderr]).toEqual([2, expect.stringContaining('npx tollgate login URL') as string]);
  });

  it('a command says which one does not answer', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, stderr } = await run(['get', 'merchants'], inEnvironment({ TOLLGATE_URL: url }));
    expect([code, stderr]).toEqual([2, expect.stringContaining(`No Rules API answers at ${url}`) as string]);
  });
});

describe('rules as files', () => {
  it('diff shows the difference with exit code 1, and changes nothing', async () => {
    const { code, stdout } = await tollgate('diff', file(FILE));
    expect([code, stdout]).toEqual([
      1,
      '+ merchant acme\n+ rule "card payments" of acme\n+ default rule "for all"\nNot applied: 3 to create, 0 to update, 0 to delete.\n',
    ]);
    expect(await tollgate('get', 'merchants', '--json')).toMatchObject({ stdout: '[]\n' });
  });

  it('apply makes it, and after that there is no difference', async () => {
    expect(await tollgate('apply', file(FILE), '--dry-run')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Not applied') as string,
    });
    const { code, stdout } = await tollgate('apply', file(FILE), '--reason', 'spring, für alle');
    expect([code, stdout.split('\n').at(-2)]).toEqual([0, 'Applied 3 changes.']);
    expect(await tollgate('diff', file(FILE))).toMatchObject({ code: 0, stdout: 'No difference.\n' });
    expect(await json('audit', 'list', '--limit', '1')).toMatchObject([{ reason: 'spring, für alle' }]);
  });

  it('apply warns of what is probably a mistake, with its line, and with --strict refuses it', async () => {
    const mistaken = file(FILE.replace('capacity: 10', 'capacity: 3'), 'mistaken.yaml');
    const warning =
      /! mistaken\.yaml:8: \/merchants\/0\/rules\/0\/limits\/0\/capacity is less than the 5 tokens .* \(limit\.capacity\.below_refill\)/;
    expect(await tollgate('diff', mistaken)).toMatchObject({ code: 1, stdout: expect.stringMatching(warning) as string });
    const dry = await tollgate('diff', mistaken, '--strict');
    expect([dry.code, dry.stdout]).toEqual([
      1,
      expect.stringContaining('apply would refuse it: rules of the document are probably mistakes') as string,
    ]);
    const strict = await tollgate('apply', mistaken, '--strict');
    expect([strict.code, strict.stderr]).toEqual([
      1,
      expect.stringContaining('mistaken.yaml:8: /merchants/0/rules/0/limits/0/capacity') as string,
    ]);
    expect(await tollgate('diff', file(FILE))).toMatchObject({ code: 0 });
    expect(await tollgate('apply', mistaken)).toMatchObject({ code: 0, stdout: expect.stringMatching(warning) as string });
    expect(await tollgate('apply', file(FILE), '--strict')).toMatchObject({ code: 0 });
  });

  it('apply reads the standard input, and says what becomes of a field', async () => {
    const { code, stdout } = await run(['apply', '-', '--dry-run'], {
      ...inEnvironment(),
      input: FILE.replace('capacity: 10', 'capacity: 20'),
    });
    expect([code, stdout.split('\n').slice(0, 2)]).toEqual([0, ['~ rule "card payments" of acme', '    /limits/0/capacity becomes 20']]);
  });

  it('apply names the line of what is wrong', async () => {
    const { code, stderr } = await tollgate('apply', file(FILE.replace('capacity: 10', 'capacity: ten')));
    expect([code, stderr]).toEqual([1, expect.stringContaining('rules.yaml:8: /merchants/0/rules/0/limits/0/capacity must be') as string]);
  });

  it('a file that is no YAML is not sent', async () => {
    expect(await tollgate('apply', file('a: "'))).toMatchObject({ code: 2, stderr: expect.stringContaining('not valid YAML') as string });
  });

  it('apply refuses to delete too much, unless told', async () => {
    const empty = file(FILE.replace(/ {4}rules:[^]*?defaultRules/, '    rules: []\ndefaultRules'));
    expect(await tollgate('apply', empty)).toMatchObject({ code: 1, stderr: expect.stringContaining('1 of 2 rules') as string });
    expect(await tollgate('apply', empty, '--dry-run')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('apply would refuse it') as string,
    });
    expect(await tollgate('apply', empty, '--max-delete-percent', '50')).toMatchObject({ code: 0 });
    expect(await tollgate('apply', file(FILE))).toMatchObject({ code: 0 });
  });

  it('export writes what apply takes', async () => {
    expect(await tollgate('export', '--out', 'exported.yaml')).toMatchObject({ code: 0, stdout: '', stderr: '' });
    expect(await tollgate('diff', 'exported.yaml')).toMatchObject({ code: 0 });
    expect(readdirSync(folder).filter((name) => name.includes('unfinished'))).toEqual([]);
    const { stdout } = await tollgate('export', '--merchant', 'acme', '--format', 'json');
    expect(JSON.parse(stdout)).toEqual({
      version: 1,
      merchants: (parse(readFileSync(join(folder, 'exported.yaml'), 'utf8')) as { merchants: unknown }).merchants,
    });
  });

  it('export of a merchant that is not there leaves a former file as it was', async () => {
    expect(await tollgate('export', '--merchant', 'nobody', '--out', 'exported.yaml')).toMatchObject({ code: 1 });
    expect(await tollgate('diff', 'exported.yaml')).toMatchObject({ code: 0 });
  });
});

describe('rules with a label as files', () => {
  const RISK = `version: 1
merchants:
  - id: acme
    name: Acme
    rules:
      - name: of risk
        labels: { team: risk }
        limits: [{ name: burst, algorithm: token_bucket, capacity: 10, refillTokens: 5, refillIntervalMs: 1000 }]
`;

  it('apply and export with --select leave everything else alone', async () => {
    expect(await tollgate('apply', file(RISK, 'risk.yaml'), '--select', 'team=risk')).toMatchObject({ code: 0 });
    await tollgate('export', '--select', 'team=risk', '--out', 'risk-exported.yaml');
    expect(await tollgate('diff', 'risk-exported.yaml', '--select', 'team=risk')).toMatchObject({ code: 0 });
    expect(readFileSync(join(folder, 'risk-exported.yaml'), 'utf8')).toMatch(
      /^# yaml-language-server: \$schema=http.*\/schema\/configuration\.json\n/,
    );
    const { code, stderr } = await tollgate('apply', file(FILE), '--select', 'team=risk');
    expect([code, stderr]).toEqual([1, expect.stringContaining('/merchants/0/rules/0/labels must have the label team=risk') as string]);
    const none = file(RISK.replace(/ {4}rules:[^]*/, '    rules: []\n'), 'risk.yaml');
    expect(await tollgate('apply', none, '--select', 'team=risk', '--max-delete-percent', '100')).toMatchObject({ code: 0 });
    expect(await tollgate('diff', file(FILE))).toMatchObject({ code: 0 });
  });

  it('the schema that an export names is served without a token', async () => {
    const answer = await fetch(`${app.url}/schema/configuration.json`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('application/schema+json') as string,
    ]);
    expect(await answer.json()).toMatchObject({ title: 'Configuration', properties: { merchants: {} } });
  });
});

describe('what stands and what stood', () => {
  it('get prints a table, or JSON', async () => {
    const { stdout } = await tollgate('get', 'rules', '--merchant', 'acme');
    expect(stdout).toMatch(/^id +name +layer .*\n\d+ +card payments +merchant +100 +true +enforce +burst \(token_bucket 10\) +1\s*\n$/);
    expect(await json('get', 'default-rules')).toMatchObject([{ name: 'for all' }]);
    expect(await json('get', 'tokens')).toEqual([]);
    expect(await tollgate('get', 'rules', '--merchant', 'nobody')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Refused (404)') as string,
    });
  });

  it('revert brings a former version back, and history shows it', async () => {
    await tollgate('apply', file(FILE.replace('capacity: 10', 'capacity: 20')));
    const [{ id }] = await json<[{ id: string }]>('get', 'rules', '--merchant', 'acme');
    const { code, stdout } = await tollgate('revert', id, '1', '--merchant', 'acme', '--reason', 'too much');
    expect([code, stdout]).toEqual([0, `Rule ${id} is what it was at version 1; that is version 3 now.\n`]);
    expect(await tollgate('diff', file(FILE))).toMatchObject({ code: 0 });
    const history = await tollgate('history', '--merchant', 'acme', '--rule', id);
    expect(history.stdout.split('\n')[1]).toMatch(/admin +rule\.reverted +acme +\d+ +3 +\/limits\/0\/capacity +too much/);
    expect(await json('history', '--merchant', 'acme')).toMatchObject([{ action: 'merchant.created' }]);
  });

  it('revert brings a deleted rule back', async () => {
    const [{ id }] = await json<[{ id: string }]>('get', 'default-rules');
    await tollgate('apply', file('version: 1\ndefaultRules: []\n'), '--max-delete-percent', '100');
    expect(await json('get', 'default-rules')).toEqual([]);
    expect(await tollgate('revert', id, '1')).toMatchObject({ code: 0 });
    expect(await json('get', 'default-rules')).toMatchObject([{ id, name: 'for all' }]);
  });

  it('plans are applied, listed, looked back on and reverted like merchants and their rules', async () => {
    const plans = (capacity: number) =>
      `version: 1\nplans:\n- name: pro\n  rules:\n  - name: shared\n    limits:\n    - { name: burst, algorithm: token_bucket, capacity: ${capacity}, refillTokens: 5, refillIntervalMs: 1000 }\n`;
    expect((await tollgate('apply', file(plans(10)))).stdout).toContain('+ plan pro\n+ rule "shared" of plan pro\n');
    await tollgate('apply', file(plans(20)));
    expect(await json('get', 'plans')).toMatchObject([{ name: 'pro', version: 1 }]);
    const [{ id }] = await json<[{ id: string }]>('get', 'rules', '--plan', 'pro');
    expect(await tollgate('revert', id, '1', '--plan', 'pro')).toMatchObject({ code: 0 });
    expect(await json('history', '--plan', 'pro', '--rule', id)).toMatchObject([{ action: 'rule.reverted', plan: 'pro' }, {}, {}]);
    expect((await tollgate('history', '--plan', 'pro')).stdout).toMatch(/plan\.created +plan pro/);
    expect(await tollgate('get', 'rules', '--plan', 'pro', '--merchant', 'acme')).toMatchObject({ code: 2 });
  });

  it('audit list filters', async () => {
    expect(await json('audit', 'list', '--actor', 'nobody')).toEqual([]);
    expect(await tollgate('audit', 'list', '--since', 'yesterday')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('since must be a time') as string,
    });
  });
});

describe('a configuration of envoyproxy/ratelimit', () => {
  const CONFIG = `domain: messaging
descriptors:
  - key: to_number
    rate_limit: { unit: day, requests_per_unit: 100 }
  - key: merchant
    value: acme
    rate_limit: { name: a minute, unit: minute, requests_per_unit: 20 }
`;

  it('becomes rules, of which another import changes only its own', async () => {
    const created = '+ rule "merchant=acme" of acme\n+ merchant messaging\n+ rule "to_number" of messaging\n';
    expect(await tollgate('import', 'envoy', file(CONFIG, 'config.yaml'))).toMatchObject({
      code: 0,
      stdout: `${created}Applied 3 changes.\n`,
    });
    const { stdout } = await tollgate('import', 'envoy', file(CONFIG.replace('100', '200'), 'config.yaml'), '--dry-run');
    expect(stdout.split('\n').slice(0, 2)).toEqual(['~ rule "to_number" of messaging', '    /limits/0/limit becomes 200']);
    const withoutAcme = file(CONFIG.replace(/ {2}- key: merchant[^]*/, ''), 'config.yaml');
    expect(await tollgate('import', 'envoy', withoutAcme, '--print')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^version: 1\n/) as string,
    });
  });

  it('that is wrong is told with its lines, whoever finds it', async () => {
    const wrong = async (text: string) => (await tollgate('import', 'envoy', file(text, 'config.yaml'))).stderr;
    expect(await wrong(CONFIG.replace('unit: day', 'unit: decade'))).toContain(
      'config.yaml:4: /descriptors/0/rate_limit/unit must be one of',
    );
    expect(await wrong(CONFIG.replace('name: a minute', 'name: a/minute'))).toContain(
      'config.yaml:5: /descriptors/1 must be 1 to 64 letters',
    );
  });
});

describe('tollgate audit verify', () => {
  const verify = (...args: string[]) => run(['audit', 'verify', ...args], { env: { DATABASE_URL: database.url } });

  it('finds no fault in what was written, and the head that was noted', async () => {
    const { code, stdout } = await verify();
    const [, head = ''] = /^\d+ rows, head (\d+:[0-9a-f]{64})\nNo row was altered, removed or added\.\n$/.exec(stdout) ?? [];
    expect([code, head]).toEqual([0, expect.stringMatching(/^\d/) as string]);
    expect(await verify('--expect', head)).toMatchObject({ code: 0 });
    expect(
      await verify(
        '--expect',
        head.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')),
      ),
    ).toMatchObject({ code: 1 });
  });

  it('finds a row that was altered, with exit code 1', async () => {
    const dataSource = await createDataSource(database.url).initialize();
    try {
      await dataSource.query('ALTER TABLE audit DISABLE TRIGGER USER');
      await dataSource.query(`UPDATE audit SET actor = 'nobody' WHERE seq = 2`);
    } finally {
      await dataSource.destroy();
    }
    const { code, stdout } = await verify();
    expect([code, stdout]).toEqual([1, expect.stringContaining('  place 2: the row is not what was written, or was added\n') as string]);
    expect(JSON.parse((await verify('--json')).stdout)).toMatchObject({ faults: [{ seq: 2 }] });
  });

  it('says that it needs a database', async () => {
    expect(await run(['audit', 'verify'])).toMatchObject({ code: 2, stderr: expect.stringContaining('DATABASE_URL must say') as string });
    const nowhere = `postgres://me:secret@127.0.0.1:${await freePort()}/x`;
    const { code, stderr } = await run(['audit', 'verify'], { env: { DATABASE_URL: nowhere } });
    expect([code, stderr]).toEqual([2, expect.stringContaining('PostgreSQL does not answer') as string]);
    expect(stderr).not.toContain('secret');
  });
});
