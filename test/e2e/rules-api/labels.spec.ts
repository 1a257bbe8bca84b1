import { ruleBody } from '../../support/factories/rules.js';
import { type Api, emptyRulesApi } from './api.js';

const ANY = { 'if-match': '*' };

let api: Api;
beforeAll(async () => {
  api = await emptyRulesApi();
});

/** All items of a list, page by page. */
async function all(path: string): Promise<{ id: string; name: string }[]> {
  const items: { id: string; name: string }[] = [];
  for (let cursor = ''; ;) {
    const { status, body } = await api.ask('GET', `${path}&limit=2${cursor}`);
    expect([path, status]).toEqual([path, 200]);
    items.push(...(body as { items: { id: string; name: string }[] }).items);
    if (body.nextCursor === null) return items;
    cursor = `&cursor=${body.nextCursor as string}`;
  }
}

const MALFORMED: readonly [labels: unknown, pointer: string, reason: string][] = [
  [{ Team: 'risk' }, '/labels/Team', 'malformed'],
  [{ '-team': 'risk' }, '/labels/-team', 'malformed'],
  [{ ['x'.repeat(64)]: 'risk' }, `/labels/${'x'.repeat(64)}`, 'malformed'],
  [{ team: 'x'.repeat(64) }, '/labels/team', 'malformed'],
  [{ team: '' }, '/labels/team', 'malformed'],
  [{ team: 5 }, '/labels/team', 'wrong_type'],
  [Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`label-${i}`, 'x'])), '/labels', 'wrong_length'],
  [['team'], '/labels', 'wrong_type'],
];

describe('labels of a merchant', () => {
  const merchants = '/v1/merchants';

  it('are written, read, patched one by one and removed', async () => {
    const created = await api.ask('POST', merchants, { id: 'labelled', name: 'x', labels: { region: 'eu', tier: 'gold' } });
    expect([created.status, created.body.labels]).toEqual([201, { region: 'eu', tier: 'gold' }]);
    const patched = await api.ask('PATCH', `${merchants}/labelled`, { labels: { tier: null, team: 'risk' } }, ANY);
    expect(patched.body).toMatchObject({ name: 'x', labels: { region: 'eu', team: 'risk' } });
    expect((await api.ask('PATCH', `${merchants}/labelled`, { labels: null }, ANY)).body.labels).toEqual({});
    expect((await api.ask('GET', `${merchants}/labelled`)).body.labels).toEqual({});
    expect((await api.ask('POST', merchants, { id: 'bare', name: 'x' })).body.labels).toEqual({});
  });

  it.each(MALFORMED)('are refused: %j', async (labels, pointer, reason) => {
    const { status, body } = await api.ask('POST', merchants, { id: 'never', name: 'x', labels });
    expect([status, body.errors]).toEqual([400, [{ pointer, code: `merchant.labels.${reason}`, detail: expect.any(String) as string }]]);
  });

  it('and the name find merchants, page by page', async () => {
    for (let i = 0; i < 5; i++)
      await api.ask('POST', merchants, { id: `found-${i}`, name: `Ähnlich ${i}%`, labels: { found: i < 3 ? 'yes' : 'no=1' } });
    const ids = async (query: string) => (await all(`${merchants}?${query}`)).map(({ id }) => id);
    expect(await ids('label=found%3Dyes')).toEqual(['found-0', 'found-1', 'found-2']);
    expect(await ids('label=found%3Dno%3D1')).toEqual(['found-3', 'found-4']);
    expect(await ids('label=found%3Dmaybe')).toEqual([]);
    expect(await ids('name=%C3%A4HN')).toEqual(['found-0', 'found-1', 'found-2', 'found-3', 'found-4']);
    expect(await ids('name=%C3%A4hnlich%204%25')).toEqual(['found-4']);
    expect(await ids('name=%C3%A4hnlich%25')).toEqual([]);
    expect(await ids('name=_hn')).toEqual([]);
    expect(await ids('name=%5C')).toEqual([]);
    expect(await ids('name=%C3%A4&label=found%3Dyes')).toEqual(['found-0', 'found-1', 'found-2']);
  });

  it('find a page again with the cursor of the same filter only', async () => {
    const { body } = await api.ask('GET', `${merchants}?label=found%3Dyes&limit=1`);
    const cursor = `cursor=${(body as { nextCursor: string }).nextCursor}`;
    for (const query of ['', 'label=found%3Dno&', 'name=x&']) {
      const answer = await api.ask('GET', `${merchants}?${query}${cursor}`);
      expect([query, answer.status, answer.body.errors?.[0]?.code]).toEqual([query, 400, 'query.cursor.malformed']);
    }
    expect((await api.ask('GET', `${merchants}?label=found%3Dyes&limit=2&${cursor}`)).body.items).toHaveLength(2);
  });

  it.each([
    'label=region',
    'label==eu',
    'label=Region%3Deu',
    'label=region%3D',
    'label=a%3Db&label=c%3Dd',
    'name=',
    `name=${'x'.repeat(201)}`,
  ])('are not looked for by %s', async (query) => {
    const { status, body } = await api.ask('GET', `${merchants}?${query}`);
    expect([status, body.code]).toEqual([400, 'query.invalid']);
  });
});

describe.each(['/v1/merchants/ruled/rules', '/v1/default-rules'])('rules at %s', (rules) => {
  const NAMES = ['payments', 'everything', 'off', 'window'];
  beforeAll(async () => {
    await api.ask('POST', '/v1/merchants', { id: 'ruled', name: 'x' });
    const window = { name: 'a day', algorithm: 'fixed_window', limit: 5, calendar: 'day' };
    for (const [index, fields] of [
      { match: { paths: ['/transactions/**'] }, labels: { team: 'risk' }, note: 'ticket RISK-81\nsecond line' },
      { labels: { team: 'risk', wave: 'march' } },
      { match: { paths: ['/pay-*'] }, enabled: false },
      { match: { paths: ['/transactions/*'] }, limits: [window] },
    ].entries()) {
      expect((await api.ask('POST', rules, ruleBody({ name: NAMES[index], priority: 100 - index, ...fields }))).status).toBe(201);
    }
  });

  it('have a note and labels', async () => {
    const [first] = await all(`${rules}?label=team%3Drisk`);
    const path = `${rules}/${first!.id}`;
    expect(first).toMatchObject({ note: 'ticket RISK-81\nsecond line', labels: { team: 'risk' } });
    const { body } = await api.ask('PATCH', path, { note: null, labels: { team: null, owner: 'Änne' } }, ANY);
    expect(body).toMatchObject({ note: '', labels: { owner: 'Änne' } });
    const revert = await api.ask('POST', `${path}/revert`, { version: 1 }, ANY);
    expect(revert.body).toMatchObject({ note: 'ticket RISK-81\nsecond line', labels: { team: 'risk' } });
    await api.ask('DELETE', path, undefined, ANY);
    const back = await api.ask('POST', `${path}/revert`, { version: 1 }, ANY);
    expect(back.body).toMatchObject({ note: 'ticket RISK-81\nsecond line', labels: { team: 'risk' } });
  });

  it.each([...MALFORMED, [undefined, '/note', 'malformed'] as const])(
    'are refused for the labels or the note %j',
    async (labels, pointer, reason) => {
      const body = ruleBody({ name: 'never', ...(labels === undefined ? { note: 'x'.repeat(501) } : { labels }) });
      const answer = await api.ask('POST', rules, body);
      const code = `rule.${pointer.split('/')[1]!}.${reason}`;
      expect([answer.status, answer.body.errors]).toEqual([400, [{ pointer, code, detail: expect.any(String) as string }]]);
    },
  );

  it.each([
    ['path=/transactions/17', ['payments', 'everything', 'window']],
    ['path=/transactions/17/refunds', ['payments', 'everything']],
    ['path=/transactions/**', ['payments', 'everything', 'window']],
    ['path=/pay-now', ['everything', 'off']],
    ['label=team%3Drisk', ['payments', 'everything']],
    ['label=team%3Drisks', []],
    ['algorithm=fixed_window', ['window']],
    ['enabled=false', ['off']],
    ['enabled=true&label=wave%3Dmarch&path=/', ['everything']],
  ])('are found by %s', async (query, names) => {
    expect((await all(`${rules}?${query}`)).map(({ name }) => name)).toEqual(names);
  });

  it.each(['path=transactions', `path=/${'x'.repeat(2_048)}`, 'algorithm=leaky', 'enabled=yes', 'label=x', 'state=on'])(
    'are not looked for by %s',
    async (query) => {
      const { status, body } = await api.ask('GET', `${rules}?${query}`);
      expect([status, body.code]).toEqual([400, 'query.invalid']);
    },
  );

  it('are paged with the cursor of the same filter only', async () => {
    const { body } = await api.ask('GET', `${rules}?label=team%3Drisk&limit=1`);
    expect((await api.ask('GET', `${rules}?enabled=true&cursor=${(body as { nextCursor: string }).nextCursor}`)).status).toBe(400);
  });
});
