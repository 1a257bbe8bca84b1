import type { DataSource } from 'typeorm';
import { ApprovalRepository, MAX_WANTED_APPROVALS, type ProposedChange, TooManyApprovalsError } from '#rules-db';
import { BY } from '../../support/factories/merchants.js';
import { migratedDatabase } from './database.js';

describe('ApprovalRepository', () => {
  let dataSource: DataSource;
  let close: () => Promise<void>;
  let approvals: ApprovalRepository;
  const DAY_MS = 86_400_000;

  beforeAll(async () => {
    ({ dataSource, close } = await migratedDatabase());
    approvals = new ApprovalRepository(dataSource);
  });
  beforeEach(() => dataSource.query('TRUNCATE approval RESTART IDENTITY'));
  afterAll(() => close());

  const change = (version: number, merchantId: string | null = 'acme'): ProposedChange => ({
    action: 'rule.replaced',
    merchantId,
    ruleId: '1',
    version,
    before: { name: 'a' },
    after: { name: 'b' },
  });
  const ids = async (filter: Parameters<ApprovalRepository['list']>[0]) =>
    (await approvals.list(filter, { limit: 10 })).map(({ id, state }) => `${id} ${state}`);

  it('says that an approval has expired, without anything being written', async () => {
    await approvals.want(change(1), BY, DAY_MS);
    await approvals.want(change(2), BY, DAY_MS);
    await dataSource.query(`UPDATE approval SET expires_at = now() - interval '1 second' WHERE id = 1`);
    expect(await ids({})).toEqual(['2 wanted', '1 expired']);
    expect(await ids({ state: 'expired' })).toEqual(['1 expired']);
    expect(await ids({ state: 'wanted' })).toEqual(['2 wanted']);
    expect((await approvals.find('1'))?.state).toBe('expired');
    // What has expired is wanted anew.
    expect((await approvals.want(change(1), BY, DAY_MS)).id).toBe('3');
  });

  it('keeps one approval for one change by one administrator', async () => {
    const { id } = await approvals.want(change(1), BY, DAY_MS);
    expect((await approvals.want(change(1), BY, DAY_MS)).id).toBe(id);
    expect((await approvals.want(change(1), { name: 'another' }, DAY_MS)).id).not.toBe(id);
    expect((await approvals.want(change(2), BY, DAY_MS)).id).not.toBe(id);
  });

  it('lists those of some merchants', async () => {
    for (const merchantId of ['acme', 'other', null]) await approvals.want(change(1, merchantId), BY, DAY_MS);
    expect(await ids({ among: ['other'] })).toEqual(['2 wanted']);
    expect((await approvals.list({}, { before: '2', limit: 10 })).map(({ id }) => id)).toEqual(['1']);
  });

  it('bounds how many wait, and forgets old ones', async () => {
    await dataSource.query(
      `INSERT INTO approval (state, change, proposed_by, expires_at, created_at)
       SELECT 'wanted', '{}', 'loop', now() + interval '1 hour', now() FROM generate_series(1, $1)`,
      [MAX_WANTED_APPROVALS],
    );
    await expect(approvals.want(change(1), BY, DAY_MS)).rejects.toThrow(TooManyApprovalsError);
    await dataSource.query(`UPDATE approval SET expires_at = now() - interval '91 days'`);
    await approvals.want(change(1), BY, DAY_MS);
    const [{ left }] = (await dataSource.query('SELECT count(*)::int AS left FROM approval')) as [{ left: number }];
    expect(left).toBe(MAX_WANTED_APPROVALS - 20 + 1);
  });
});
