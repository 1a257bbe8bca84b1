import type { DataSource } from 'typeorm';
import { MerchantRepository } from '#rules-db';
import { migratedDatabase } from './database.js';

/** More than a search looks at one by one, in the order of the list. */
const MERCHANTS = 6_000;

describe('a search among very many merchants', () => {
  let dataSource: DataSource;
  let close: () => Promise<void>;
  let merchants: MerchantRepository;

  beforeAll(async () => {
    ({ dataSource, close } = await migratedDatabase());
    merchants = new MerchantRepository(dataSource);
    await dataSource.query(`INSERT INTO plan (name, version, rules_version) VALUES ('pro', 1, 1)`);
    // Every second one is in the EU; the last five are branches that joined late, and the very last of them has a plan.
    await dataSource.query(
      `INSERT INTO merchant (id, name, time_zone, version, rules_version, labels, plan)
       SELECT 'm' || lpad(i::text, 5, '0'), CASE WHEN i > $1 - 5 THEN 'Branch_' ELSE 'Merchant ' END || i, 'UTC', 1, 1,
         jsonb_build_object('region', CASE WHEN i % 2 = 0 THEN 'eu' ELSE 'us' END)
           || CASE WHEN i > $1 - 5 THEN '{"joined":"late"}'::jsonb ELSE '{}'::jsonb END,
         CASE WHEN i = $1 THEN 'pro' END
       FROM generate_series(1, $1::int) AS i`,
      [MERCHANTS],
    );
  });
  afterAll(() => close());

  /** All pages of three, as numbers. */
  async function pages(filter: object, most = 4): Promise<number[][]> {
    const found: number[][] = [];
    for (let after: string | undefined; found.length < most;) {
      const page = await merchants.list({ ...filter, after, limit: 3 });
      found.push(page.map(({ id }) => Number(id.slice(1))));
      if (page.length < 3) break;
      after = page.at(-1)!.id;
    }
    return found;
  }

  const late = [
    [5996, 5997, 5998],
    [5999, 6000],
  ];

  it.each([
    [
      'common at its beginning',
      { label: { key: 'region', value: 'eu' } },
      [
        [2, 4, 6],
        [8, 10, 12],
      ],
    ],
    ['of which all are at its end', { label: { key: 'joined', value: 'late' } }, late],
    ['named so, in whatever case', { namePrefix: 'branch_' }, late],
    ['named so by a short beginning', { namePrefix: 'br' }, late],
    [
      'common among those of the same first letters',
      { namePrefix: 'merch' },
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
    ],
    ['rare among those of the same first letters', { namePrefix: 'merchant 5995' }, [[5995]]],
    ['by name and label', { namePrefix: 'BRANCH', label: { key: 'region', value: 'eu' } }, [[5996, 5998, 6000], []]],
    ['with a common label and a rare name', { namePrefix: 'merchant 5995', label: { key: 'region', value: 'us' } }, [[5995]]],
    [
      'with a common label, of which those that are named so are at the end of both lists',
      { namePrefix: 'b', label: { key: 'region', value: 'eu' } },
      [[5996, 5998, 6000], []],
    ],
    ['with a label whose value others have', { label: { key: 'joined', value: 'eu' } }, [[]]],
    ['by label and plan', { label: { key: 'joined', value: 'late' }, plan: 'pro' }, [[6000]]],
    ['that there are not', { label: { key: 'joined', value: 'never' } }, [[]]],
    ['whose name would be found by a wildcard only', { namePrefix: 'branch%' }, [[]]],
  ])('finds those %s, in the order of the list', async (_which, filter, expected) => {
    expect(await pages(filter, expected.length)).toEqual(expected);
  });

  it('finds merchants by the labels that they have now, however they were written', async () => {
    const by = { name: 'admin', requestId: '1' };
    const found = async (value: string) => (await merchants.list({ label: { key: 'wave', value }, limit: 9 })).map(({ id }) => id);
    const spec = (id: string, labels: Record<string, string>) => ({ id, name: id, timeZone: 'UTC', labels });
    await merchants.create(spec('w1', { wave: '1', 'of-all': 'yes' }), by);
    await merchants.createAll([spec('w2', { wave: '1' }), spec('w3', { wave: '2' }), spec('w4', {})], by);
    expect(await found('1')).toEqual(['w1', 'w2']);

    await merchants.update('w1', 'any', { labels: { wave: '2', 'of-all': 'yes' } }, by);
    await merchants.update('w2', 'any', { name: 'another name' }, by);
    const before = (await merchants.find('w4'))!;
    await merchants.updateAll([{ before, changes: { labels: { wave: '1' } } }], by);
    expect([await found('1'), await found('2')]).toEqual([
      ['w2', 'w4'],
      ['w1', 'w3'],
    ]);

    await merchants.update('w4', 'any', { labels: {} }, by);
    await merchants.delete('w2', 'any', by);
    await merchants.deleteAll(['w1'], by);
    expect([await found('1'), await found('2')]).toEqual([[], ['w3']]);
    await merchants.deleteAll(['w3', 'w4'], by);
    expect(await dataSource.query(`SELECT * FROM merchant_label WHERE merchant_id LIKE 'w%'`)).toEqual([]);
  });

  it('finds among the named ones only', async () => {
    const among = ['m00001', 'm05996', 'm05998'];
    expect(await pages({ label: { key: 'joined', value: 'late' }, among })).toEqual([[5996, 5998]]);
  });
});
