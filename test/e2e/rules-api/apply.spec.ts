import { parse, stringify } from 'yaml';
import { createDataSource, tryLockForApply, verifyAuditChain } from '#rules-db';
import { ADMIN_TOKEN } from '../../support/processes.js';
import { ruleBody } from '../../support/factories/rules.js';
import { type Answer, type Api, ask, emptyRulesApi } from './api.js';

interface Rule {
  name: string;
  limits: object[];
  [field: string]: unknown;
}
interface Configuration {
  version: number;
  merchants: { id: string; name: string; timeZone?: string; labels?: object; rules: Rule[] }[];
  defaultRules?: Rule[];
}
interface Result {
  applied: boolean;
  changes: { action: string; kind: string; id: string; merchantId: string | null; patch: unknown[] }[];
  refusal?: { code: string };
}

let api: Api;
beforeAll(async () => {
  api = await emptyRulesApi();
});

const call = (method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer> =>
  ask(api.app.url, method, path, body, headers);
const apply = (configuration: unknown, query = ''): Promise<Answer> => call('POST', `/v1/apply${query}`, configuration);
const text = async (path: string) => (await fetch(api.app.url + path, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })).text();
const exported = async (query = ''): Promise<Configuration> => parse(await text(`/v1/export${query}`)) as Configuration;
const audited = async () => ((await call('GET', '/v1/audit?limit=1')).body as { items: { id: string }[] }).items[0]?.id;
const summary = ({ body }: Answer) => (body as Result).changes.map(({ action, kind, merchantId, id }) => [action, kind, merchantId, id]);

const rule = (name: string, changes: object = {}): Rule => ruleBody({ name, ...changes }) as unknown as Rule;
const ten = (prefix: string) => Array.from({ length: 10 }, (_, i) => rule(`${prefix} ${i}`));
const start: Configuration = {
  version: 1,
  merchants: [
    { id: 'zeta', name: 'Zeta', rules: ten('zeta') },
    { id: 'acme', name: 'Acme', timeZone: 'Europe/Berlin', rules: ten('acme') },
  ],
  defaultRules: [rule('for all')],
};

describe('applying a file', () => {
  it('creates what is not there, merchants by id and default rules last', async () => {
    const dry = await apply(start, '?dryRun=true');
    expect([dry.status, (dry.body as Result).applied]).toEqual([200, false]);
    expect(await audited()).toBeUndefined();

    const done = await apply(start);
    expect([done.status, (done.body as Result).applied]).toEqual([200, true]);
    expect((done.body as Result).changes).toEqual((dry.body as Result).changes);
    expect(summary(done).filter(([, kind]) => kind !== 'rule')).toEqual([
      ['create', 'merchant', 'acme', 'acme'],
      ['create', 'merchant', 'zeta', 'zeta'],
      ['create', 'default_rule', null, 'for all'],
    ]);
    expect(summary(done)).toHaveLength(23);
    expect((await call('GET', '/v1/merchants/acme/rules?limit=200')).body).toMatchObject({ items: { length: 10 } });
  });

  it('changes nothing the second time, and writes no audit row', async () => {
    const before = await audited();
    const again = await apply(start);
    expect(again.body).toEqual({ changes: [], applied: true });
    expect(await audited()).toBe(before);
  });

  it('shows each difference as a JSON Patch, and makes it with reason and actor', async () => {
    const changed = structuredClone(start);
    changed.merchants[0]!.name = 'Zeta Ltd';
    changed.merchants[1]!.rules[3]!['priority'] = 7;
    changed.merchants[1]!.rules[4] = rule('acme new');
    const { body } = await call('POST', '/v1/apply', changed, { 'x-change-reason': 'ticket OPS-18' });
    expect((body as Result).changes).toEqual([
      { action: 'delete', kind: 'rule', merchantId: 'acme', id: 'acme 4', patch: [{ op: 'remove', path: '' }] },
      { action: 'update', kind: 'rule', merchantId: 'acme', id: 'acme 3', patch: [{ op: 'replace', path: '/priority', value: 7 }] },
      {
        action: 'create',
        kind: 'rule',
        merchantId: 'acme',
        id: 'acme new',
        patch: [{ op: 'add', path: '', value: expect.objectContaining({ name: 'acme new' }) as object }],
      },
      { action: 'update', kind: 'merchant', merchantId: 'zeta', id: 'zeta', patch: [{ op: 'replace', path: '/name', value: 'Zeta Ltd' }] },
    ]);
    const { items } = (await call('GET', '/v1/audit?limit=4')).body as { items: { action: string; reason: string; actor: string }[] };
    expect(items.map(({ action, reason, actor }) => [action, reason, actor])).toEqual(
      ['rule.created', 'rule.replaced', 'rule.deleted', 'merchant.updated'].map((action) => [action, 'ticket OPS-18', 'admin']),
    );
    await apply(start);
  });

  it('carries labels and notes there and back', async () => {
    const labelled = {
      version: 1,
      merchants: [
        {
          id: 'labelled',
          name: 'Labelled',
          labels: { region: 'eu' },
          rules: [rule('noted', { note: 'ticket RISK-81', labels: { team: 'risk' } })],
        },
      ],
    };
    expect(summary(await apply(labelled))).toHaveLength(2);
    expect((await apply(labelled)).body).toEqual({ changes: [], applied: true });
    const { merchants } = await exported('?merchant=labelled');
    expect(merchants).toMatchObject([{ labels: { region: 'eu' }, rules: [{ note: 'ticket RISK-81', labels: { team: 'risk' } }] }]);
    const moved = { ...labelled, merchants: [{ ...labelled.merchants[0], labels: { region: 'us' } }] };
    expect((await apply(moved)).body).toMatchObject({
      changes: [{ action: 'update', kind: 'merchant', patch: [{ op: 'replace', path: '/labels/region', value: 'us' }] }],
    });
    expect((await call('GET', '/v1/merchants/labelled')).body).toMatchObject({ labels: { region: 'us' } });
    await call('DELETE', '/v1/merchants/labelled', undefined, { 'if-match': '*' });
  });

  it('keeps the id of a rule that is changed, and so its buckets', async () => {
    const ids = async () =>
      ((await call('GET', '/v1/merchants/acme/rules?limit=200')).body as { items: { id: string; name: string }[] }).items
        .map(({ id, name }) => `${name}: ${id}`)
        .sort();
    const before = await ids();
    const changed = structuredClone(start);
    for (const each of changed.merchants[1]!.rules) each.limits = [{ ...each.limits[0], capacity: 99 }];
    expect(summary(await apply(changed))).toHaveLength(10);
    expect(await ids()).toEqual(before);
    await apply(start);
  });

  it('refuses to delete more than a tenth of the rules that it manages, unless told', async () => {
    const smaller: Configuration = {
      version: 1,
      merchants: [{ id: 'acme', name: 'Acme', timeZone: 'Europe/Berlin', rules: ten('acme').slice(2) }],
    };
    const refused = await apply(smaller);
    expect([refused.status, refused.body]).toMatchObject([
      409,
      { code: 'apply.too_many_deletions', type: expect.stringContaining('/conflict') as string },
    ]);
    expect((refused.body as { detail: string }).detail).toContain('2 of 10 rules');
    expect((await apply(smaller, '?dryRun=true')).body).toMatchObject({
      applied: false,
      changes: { length: 2 },
      refusal: { code: 'apply.too_many_deletions' },
    });
    expect((await apply(smaller, '?maxDeletePercent=20')).body).toMatchObject({ applied: true, changes: { length: 2 } });
    await apply(start);
  });

  it('leaves merchants and default rules alone that the file does not name', async () => {
    const before = await exported();
    expect((await apply({ version: 1, merchants: [] })).body).toEqual({ changes: [], applied: true });
    expect(await exported()).toEqual(before);
  });

  it('deletes merchants that the file lacks only if asked to, and only as many as it may', async () => {
    await call('POST', '/v1/merchants', { id: 'extra', name: 'Extra' });
    expect((await apply(start)).body).toMatchObject({ changes: [] });
    expect((await apply(start, '?deleteMerchants=true')).body).toMatchObject({ code: 'apply.too_many_deletions' });
    const done = await apply(start, '?deleteMerchants=true&maxDeletePercent=50');
    expect(summary(done)).toEqual([['delete', 'merchant', 'extra', 'extra']]);
    expect((await call('GET', '/v1/merchants/extra')).status).toBe(404);
  });

  it('is one transaction: where one change fails, none is made', async () => {
    const before = await exported();
    const dataSource = await createDataSource(api.databaseUrl).initialize();
    try {
      await dataSource.query(`
        CREATE FUNCTION refuse_one() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF NEW.name = 'the last one' THEN RAISE EXCEPTION 'refused'; END IF; RETURN NEW; END $$`);
      await dataSource.query('CREATE TRIGGER refuse_one BEFORE INSERT ON rule FOR EACH ROW EXECUTE FUNCTION refuse_one()');
      const last = await audited();
      const more = { ...start, defaultRules: [...start.defaultRules!, rule('the last but one'), rule('the last one')] };
      expect((await apply(more)).status).toBe(500);
      expect([await exported(), await audited()]).toEqual([before, last]);
    } finally {
      await dataSource.query('DROP FUNCTION refuse_one CASCADE');
      await dataSource.destroy();
    }
  });

  it('follows the calendar of a merchant that moves to another time zone, and keeps the version of a merchant that comes back', async () => {
    const moving = (timeZone: string, day = 100) => ({
      version: 1,
      merchants: [
        {
          id: 'mover',
          name: 'Mover',
          timeZone,
          rules: [rule('a day', { limits: [{ name: 'day', algorithm: 'fixed_window', limit: day, calendar: 'day' }] })],
        },
      ],
    });
    await apply(moving('Europe/Berlin'));
    expect(summary(await apply(moving('Asia/Tokyo', 200)))).toEqual([
      ['update', 'merchant', 'mover', 'mover'],
      ['update', 'rule', 'mover', 'a day'],
    ]);
    expect((await apply(moving('Asia/Tokyo', 200))).body).toEqual({ changes: [], applied: true });
    const { version } = (await call('GET', '/v1/merchants/mover')).body as { version: number };
    await apply(start, '?deleteMerchants=true&maxDeletePercent=100');
    await apply(moving('UTC'));
    expect((await call('GET', '/v1/merchants/mover')).body).toMatchObject({ version: expect.any(Number) as number, timeZone: 'UTC' });
    expect(((await call('GET', '/v1/merchants/mover')).body as { version: number }).version).toBeGreaterThan(version);
    await apply(start, '?deleteMerchants=true&maxDeletePercent=100');
  });

  it('keeps the audit one unbroken chain, and tells the preloader of each owner once', async () => {
    const dataSource = await createDataSource(api.databaseUrl).initialize();
    try {
      await dataSource.query('DELETE FROM outbox');
      await apply({ ...start, merchants: [{ ...start.merchants[1]!, rules: [...ten('acme'), rule('a'), rule('b')] }] });
      expect(await dataSource.query('SELECT merchant_id FROM outbox')).toEqual([{ merchant_id: 'acme' }]);
      expect((await verifyAuditChain(dataSource)).faults).toEqual([]);
      await apply(start, '?maxDeletePercent=100');
    } finally {
      await dataSource.destroy();
    }
  });

  it('waits for no file that another Rules API applies, and is refused meanwhile', async () => {
    const dataSource = await createDataSource(api.databaseUrl).initialize();
    try {
      await dataSource.transaction(async (manager) => {
        expect(await tryLockForApply({ manager, run: () => Promise.reject(new Error('unused')) })).toBe(true);
        // Two documents with deleteMerchants would each lock merchants that the other one waits for.
        const refused = await apply(start, '?deleteMerchants=true&maxDeletePercent=100');
        expect([refused.status, refused.body, refused.headers.get('retry-after')]).toMatchObject([503, { code: 'apply.busy' }, '5']);
      });
      expect((await apply(start)).body).toEqual({ changes: [], applied: true });
    } finally {
      await dataSource.destroy();
    }
  });

  it('tells of more changes than are in memory at once', async () => {
    const merchants = Array.from({ length: 12 }, (_, i) => ({
      id: `long-${i}`,
      name: 'x',
      rules: Array.from({ length: 50 }, (_each, j) => rule(`rule ${j}`)),
    }));
    const long = { version: 1, merchants };
    const dry = (await apply(long, '?dryRun=true')).body as Result;
    expect([dry.applied, dry.changes.length, dry.changes.filter(({ kind }) => kind === 'merchant').length]).toEqual([false, 612, 12]);
    const done = await apply(long);
    expect(done.body).toMatchObject({ changes: dry.changes, applied: true });
    expect(done.headers.get('content-type')).toMatch(/^application\/json/);
    expect((await call('GET', '/v1/audit?merchant=long-7&limit=200')).body).toMatchObject({ items: { length: 51 } });
    const gone = await apply(start, '?deleteMerchants=true&maxDeletePercent=100');
    expect(summary(gone).filter(([action]) => action === 'delete')).toHaveLength(12);
    const dataSource = await createDataSource(api.databaseUrl).initialize();
    try {
      expect((await verifyAuditChain(dataSource)).faults).toEqual([]);
    } finally {
      await dataSource.destroy();
    }
  });

  it('two files at once do not mix', async () => {
    const other = structuredClone(start);
    for (const each of other.merchants) each.name = `${each.name} 2`;
    const answers = await Promise.all([apply(start), apply(other), apply(start), apply(other)]);
    for (const { status } of answers) expect([200, 503]).toContain(status);
    const names = (await exported()).merchants.map(({ name }) => name);
    expect([
      ['Acme', 'Zeta'],
      ['Acme 2', 'Zeta 2'],
    ]).toContainEqual(names);
    await apply(start);
  });

  it.each<[string, unknown, string, string]>([
    ['no version', { merchants: [] }, '/version', 'configuration.version.missing'],
    ['an unknown version', { version: 2 }, '/version', 'configuration.version.out_of_range'],
    ['a misspelt list', { version: 1, merchant: [] }, '/merchant', 'configuration.unknown_field'],
    ['a merchant that is a text', { version: 1, merchants: ['acme'] }, '/merchants/0', 'merchant.wrong_type'],
    [
      'rules that are no list',
      { version: 1, merchants: [{ id: 'a', name: 'a', rules: {} }] },
      '/merchants/0/rules',
      'merchant.rules.wrong_type',
    ],
    ['an id', { version: 1, defaultRules: [{ ...rule('x'), id: '7' }] }, '/defaultRules/0/id', 'rule.unknown_field'],
    ['a rule that is null', { version: 1, defaultRules: [null] }, '/defaultRules/0', 'rule.wrong_type'],
    [
      'a wrong cost',
      { version: 1, merchants: [{ id: 'a', name: 'a', rules: [rule('x', { cost: 0 })] }] },
      '/merchants/0/rules/0/cost',
      'rule.cost.out_of_range',
    ],
    ['two rules of one name', { version: 1, defaultRules: [rule('x'), rule('x')] }, '/defaultRules/1/name', 'rule.name.repeated'],
    [
      'too many rules',
      { version: 1, defaultRules: Array.from({ length: 101 }, (_, i) => rule(`x${i}`)) },
      '/defaultRules',
      'configuration.rules.wrong_length',
    ],
    [
      'a merchant twice',
      {
        version: 1,
        merchants: [
          { id: 'a', name: 'a' },
          { id: 'a', name: 'b' },
        ],
      },
      '/merchants/1/id',
      'merchant.id.repeated',
    ],
  ])('refuses %s and names the place', async (_what, configuration, pointer, code) => {
    const { status, body } = await apply(configuration);
    expect([status, (body as { errors: unknown[] }).errors]).toMatchObject([400, [{ pointer, code }]]);
  });

  it('names at most 100 faults of a file full of them', async () => {
    const { status, body } = await apply({ version: 1, merchants: Array.from({ length: 5_000 }, () => ({})) });
    expect([status, (body as { errors: unknown[] }).errors.length]).toEqual([400, 100]);
  });

  it.each([
    '?dryRun=yes',
    '?maxDeletePercent=101',
    '?maxDeletePercent=-1',
    '?select=a',
    '?select=a=b&deleteMerchants=true',
    '?deletePlans=maybe',
    '?dryRun=true&dryRun=true',
  ])('refuses the query %s', async (query) => expect((await apply(start, query)).status).toBe(400));
});

describe('a file that manages what has a label', () => {
  const labelled = (name: string, changes: object = {}) => rule(name, { labels: { team: 'risk' }, ...changes });
  const acme = (...rules: Rule[]): Configuration => ({ version: 1, merchants: [{ id: 'acme', name: 'Another name', rules }] });
  const rulesOfAcme = async () => (await exported('?merchant=acme')).merchants[0]!.rules.map(({ name }) => name).sort();
  afterAll(() => apply(start, '?maxDeletePercent=100'));

  it('changes and deletes nothing else, and not the merchant without the label', async () => {
    const before = await rulesOfAcme();
    const done = await apply(acme(labelled('risk 1'), labelled('risk 2')), '?select=team=risk');
    expect(summary(done)).toEqual([
      ['create', 'rule', 'acme', 'risk 1'],
      ['create', 'rule', 'acme', 'risk 2'],
    ]);
    const next = acme(labelled('risk 2', { priority: 7 }));
    expect(summary(await apply(next, '?select=team%3Drisk&maxDeletePercent=50'))).toEqual([
      ['delete', 'rule', 'acme', 'risk 1'],
      ['update', 'rule', 'acme', 'risk 2'],
    ]);
    expect(await rulesOfAcme()).toEqual([...before, 'risk 2'].sort());
    expect((await call('GET', '/v1/merchants/acme')).body).toMatchObject({ name: 'Acme' });
  });

  it('counts only that for the share that may be deleted', async () =>
    expect(await apply(acme(), '?select=team=risk')).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('1 of 1 rules') as string },
    }));

  it('is what export writes for the label', async () => {
    const document = await exported('?select=team=risk');
    expect(document).toMatchObject({ merchants: [{ id: 'acme', rules: [{ name: 'risk 2' }] }], defaultRules: [] });
    expect((await apply(document, '?select=team=risk')).body).toEqual({ changes: [], applied: true });
    expect((await exported('?select=team=nobody')).merchants).toEqual([]);
  });

  it.each<[string, Configuration, number, string]>([
    ['a rule without the label', acme(rule('x')), 400, 'body.invalid'],
    ['the name of a rule outside', acme(labelled('acme 1')), 409, 'apply.not_selected'],
    [
      'a merchant that it would take over',
      { version: 1, merchants: [{ ...acme().merchants[0]!, labels: { team: 'risk' } }] },
      409,
      'apply.not_selected',
    ],
    [
      'a new merchant without the label',
      { version: 1, merchants: [{ id: 'new', name: 'New', rules: [labelled('x')] }] },
      409,
      'apply.not_selected',
    ],
  ])('is refused with %s', async (_what, document, status, code) =>
    expect(await apply(document, '?select=team=risk')).toMatchObject({ status, body: { code } }),
  );

  it('creates and updates merchants with the label', async () => {
    const one = (name: string) => ({ version: 1, merchants: [{ id: 'of-risk', name, labels: { team: 'risk' }, rules: [labelled('x')] }] });
    expect(summary(await apply(one('Risk'), '?select=team=risk'))).toHaveLength(2);
    expect(summary(await apply(one('Risk 2'), '?select=team=risk'))).toEqual([['update', 'merchant', 'of-risk', 'of-risk']]);
    await call('DELETE', '/v1/merchants/of-risk', undefined, { 'if-match': '*' });
  });
});

describe('a file that touches a protected rule', () => {
  const document = (cost: number, ...rules: Rule[]) => ({
    version: 1,
    plans: [{ name: 'guarding', rules: [rule('guarded', { cost, labels: { protected: 'true' } }), rule('free', { cost }), ...rules] }],
    merchants: [{ id: 'aaa', name: `A ${cost}`, plan: 'guarding', rules: [] }],
  });
  // The API would want a second administrator.
  afterAll(async () => {
    const dataSource = await createDataSource(api.databaseUrl).initialize();
    await dataSource.query(`DELETE FROM merchant WHERE id IN ('aaa', 'kept')`);
    await dataSource.query(`DELETE FROM plan WHERE name = 'guarding'`);
    await dataSource.destroy();
  });

  it('may create it, and is refused as a whole when it changes or deletes it, also in a dry run', async () => {
    expect(await apply(document(1))).toMatchObject({ status: 200 });
    const [before, last] = [await exported(), await audited()];
    const without = { ...document(1), plans: [{ name: 'guarding', rules: [] }] };
    for (const refused of [document(2, rule('new')), without]) {
      expect(await apply(refused, '?maxDeletePercent=100')).toMatchObject({ status: 409, body: { code: 'approval.needed' } });
      expect((await apply(refused, '?dryRun=true&maxDeletePercent=100')).body).toMatchObject({ refusal: { code: 'approval.needed' } });
    }
    expect([await exported(), await audited()]).toEqual([before, last]);
    expect((await apply(document(1))).body).toEqual({ changes: [], applied: true });
  });

  it('is refused as a whole when it deletes its merchant', async () => {
    await call('POST', '/v1/merchants', { id: 'kept', name: 'Kept' });
    const { headers } = await call('POST', '/v1/merchants/kept/rules', rule('guarded', { labels: { protected: 'true' } }));
    const query = '?deleteMerchants=true&maxDeletePercent=100';
    expect(await apply({ version: 1, merchants: [] }, query)).toMatchObject({ status: 409, body: { code: 'approval.needed' } });
    expect((await call('GET', headers.get('location')!)).status).toBe(200);
  });
});

describe('a file in YAML', () => {
  const yaml = (body: string, path = '/v1/apply?dryRun=true') => call('POST', path, body, { 'content-type': 'application/yaml' });

  it('may have comments and any order', async () => {
    const body = `# limits of spring\ndefaultRules: # for all\n${stringify(start.defaultRules)}version: 1\n`;
    expect((await yaml(body)).body).toEqual({ changes: [], applied: false });
  });

  it.each([
    ['twice the same key', 'version: 1\nversion: 1\n'],
    ['two documents', 'version: 1\n---\nversion: 1\n'],
    ['an open quote', 'version: "1\n'],
    ['many aliases', `a: &a [x]\nb: [${Array(200).fill('*a').join(',')}]\n`],
    ['a very deep list', '['.repeat(100_000)],
  ])('with %s is refused', async (_what, body) => {
    expect(await yaml(body)).toMatchObject({ status: 400, body: { code: 'body.malformed' } });
  });

  it('of more than 4 MiB is refused', async () => {
    expect(await yaml(`# ${'x'.repeat(5 * 1024 * 1024)}`)).toMatchObject({ status: 413, body: { code: 'body.yaml_too_large' } });
  });

  it('with the names that every object inherits is refused', async () => {
    expect((await yaml('version: 1\n__proto__: { merchants: [] }\n')).status).toBe(400);
  });

  it('is taken by no other call, and no other call takes large bodies', async () => {
    expect((await yaml('id: a\nname: a\n', '/v1/merchants')).status).toBe(415);
    expect((await call('POST', '/v1/merchants', 'x'.repeat(70_000))).status).toBe(413);
  });
});

describe('exporting a file', () => {
  it('gives what apply takes, as YAML and as JSON', async () => {
    const yaml = await exported();
    const json = JSON.parse(await text('/v1/export?format=json')) as Configuration;
    expect(json).toEqual(yaml);
    expect(yaml.merchants.map(({ id, timeZone, rules }) => [id, timeZone, rules.length])).toEqual([
      ['acme', 'Europe/Berlin', 10],
      ['zeta', 'UTC', 10],
    ]);
    expect(yaml.merchants[0]!.rules[0]).not.toHaveProperty('id');
    expect((await apply(yaml)).body).toEqual({ changes: [], applied: true });
  });

  it('gives one merchant without the default rules', async () => {
    const one = await exported('?merchant=zeta');
    expect(Object.keys(one)).toEqual(['version', 'merchants']);
    expect(one.merchants.map(({ id }) => id)).toEqual(['zeta']);
    expect((await call('GET', '/v1/export?merchant=nobody')).status).toBe(404);
  });

  it('gives a limited token its own merchants only', async () => {
    const { token } = (await call('POST', '/v1/tokens', { name: 'of zeta', role: 'viewer', merchants: ['zeta'] })).body as {
      token: string;
    };
    const headers = { authorization: `Bearer ${token}` };
    const { body } = await call('GET', '/v1/export?format=json', undefined, headers);
    expect((body as Configuration).merchants.map(({ id }) => id)).toEqual(['zeta']);
    expect((await call('GET', '/v1/export?format=json&merchant=zeta', undefined, headers)).status).toBe(200);
    expect((await call('GET', '/v1/export?merchant=acme', undefined, headers)).status).toBe(403);
  });

  it('fails rather than leave out a rule that cannot be read', async () => {
    const dataSource = await createDataSource(api.databaseUrl).initialize();
    try {
      await dataSource.query(`UPDATE rule SET cost = -5 WHERE name = 'acme 1'`);
      expect(await call('GET', '/v1/export')).toMatchObject({ status: 500, body: { code: 'rule.unreadable' } });
      expect(summary(await apply(start))).toEqual([['update', 'rule', 'acme', 'acme 1']]);
      expect((await exported()).merchants[0]!.rules).toHaveLength(10);
    } finally {
      await dataSource.destroy();
    }
  });
});

describe('plans in a file', () => {
  const file = {
    version: 1,
    plans: [{ name: 'pro', note: 'for those who pay', rules: [rule('shared', { priority: 7 })] }],
    merchants: [{ id: 'of-pro', name: 'x', plan: 'pro', rules: [] }],
  };
  const about = ({ body }: Answer) =>
    (body as { changes: { action: string; kind: string; id: string; plan?: string }[] }).changes.map(({ action, kind, id, plan }) => [
      action,
      kind,
      id,
      plan,
    ]);

  it('are made before the merchants that name them, exported before them, and a second time nothing changes', async () => {
    const done = await apply(file);
    expect([done.status, about(done)]).toEqual([
      200,
      [
        ['create', 'plan', 'pro', 'pro'],
        ['create', 'plan_rule', 'shared', 'pro'],
        ['create', 'merchant', 'of-pro', undefined],
      ],
    ]);
    expect(about(await apply(file))).toEqual([]);
    for (const format of ['yaml', 'json']) {
      const all = await text(`/v1/export?format=${format}`);
      const parsed = parse(all) as typeof file;
      expect(all.indexOf('plans')).toBeLessThan(all.indexOf('merchants'));
      expect(parsed.plans).toMatchObject([
        { name: 'pro', note: 'for those who pay', labels: {}, rules: [{ name: 'shared', priority: 7 }] },
      ]);
      expect(parsed.merchants.find(({ id }) => id === 'of-pro')).toMatchObject({ plan: 'pro' });
      expect(about(await apply(parsed))).toEqual([]);
    }
    expect(await exported('?merchant=of-pro')).not.toHaveProperty('plans');
  });

  it('are changed, and their rules deleted, as those of merchants; one that is not in the file is left alone', async () => {
    const [plan] = file.plans;
    const changed = await apply({ version: 1, plans: [{ ...plan, note: 'new', rules: [] }] }, '?maxDeletePercent=100');
    expect(about(changed)).toEqual([
      ['update', 'plan', 'pro', 'pro'],
      ['delete', 'plan_rule', 'shared', 'pro'],
    ]);
    expect(about(await apply({ version: 1, plans: [] }))).toEqual([]);
    expect((await call('GET', '/v1/plans/pro')).body).toMatchObject({ note: 'new' });
    const left = await apply({ version: 1, merchants: [{ id: 'of-pro', name: 'x' }] });
    expect((left.body as Result).changes).toMatchObject([{ patch: [{ op: 'replace', path: '/plan', value: null }] }]);
  });

  it('that it lacks are deleted only if told, within the share, and not while a merchant has one that the file does not name', async () => {
    const two = {
      version: 1,
      plans: [file.plans[0]!, { name: 'old', rules: [rule('former')] }],
      merchants: [{ id: 'of-old', name: 'x', plan: 'old' }],
    };
    expect((await apply(two)).status).toBe(200);
    const one = { version: 1, plans: [file.plans[0]!] };
    const all = '&maxDeletePercent=100';
    expect(about(await apply(one))).toEqual([]);
    expect((await apply(one, '?deletePlans=true')).body).toMatchObject({ code: 'apply.too_many_deletions' });
    for (const query of ['', '&dryRun=true']) {
      const { status, body } = await apply(one, `?deletePlans=true${all}${query}`);
      const problem = query === '' ? body : (body as Result).refusal;
      expect([status, problem]).toMatchObject([
        query === '' ? 409 : 200,
        { code: 'plan.in_use', detail: expect.stringContaining('of-old') as string },
      ]);
    }
    expect((await call('GET', '/v1/plans/old')).status).toBe(200);
    const named = await apply({ ...one, merchants: [{ id: 'of-old', name: 'x', plan: 'old' }] }, `?deletePlans=true${all}`);
    expect([named.status, named.body.errors]).toMatchObject([400, [{ pointer: '/merchants/0/plan', code: 'merchant.plan.not_found' }]]);
    // The file moves the merchant to another plan, and so nobody has this one any more.
    const moving = { ...one, merchants: [{ id: 'of-old', name: 'x', plan: 'pro' }] };
    const dry = await apply(moving, `?deletePlans=true&dryRun=true${all}`);
    const done = await apply(moving, `?deletePlans=true${all}`);
    expect([dry.body.refusal, about(dry)]).toEqual([undefined, about(done)]);
    expect(about(done)).toEqual([
      ['update', 'merchant', 'of-old', undefined],
      ['delete', 'plan', 'old', 'old'],
    ]);
    expect((await call('GET', '/v1/plans/old')).status).toBe(404);
    expect(about(await apply(moving, '?deletePlans=true'))).toEqual([]);
    expect((await apply(moving, '?deletePlans=true&select=team=risk')).status).toBe(400);
    await call('DELETE', '/v1/merchants/of-old', undefined, { 'if-match': '*' });
  });

  it.each(['', '?dryRun=true'])('that no file and nobody has made are refused%s, and the merchant named', async (query) => {
    const answer = await apply(
      {
        version: 1,
        merchants: [
          { id: 'a', name: 'x' },
          { id: 'b', name: 'x', plan: 'gold' },
        ],
      },
      query,
    );
    expect([answer.status, answer.body.errors]).toMatchObject([400, [{ pointer: '/merchants/1/plan', code: 'merchant.plan.not_found' }]]);
  });

  it('with the same name twice are refused', async () => {
    const answer = await apply({ version: 1, plans: [{ name: 'twice' }, { name: 'twice' }] });
    expect([answer.status, answer.body.errors]).toMatchObject([400, [{ pointer: '/plans/1/name', code: 'plan.name.repeated' }]]);
  });
});
