import type { DataSource } from 'typeorm';
import { AuditRepository, MerchantRepository, RuleRepository, verifyAuditChain } from '#rules-db';
import { BY } from '../../support/factories/merchants.js';
import { ruleSpec } from '../../support/factories/rules.js';
import { migratedDatabase } from './database.js';

const ROWS = 6;

describe('the audit', () => {
  let dataSource: DataSource;
  let close: () => Promise<void>;

  beforeEach(async () => {
    ({ dataSource, close } = await migratedDatabase());
    const rules = new RuleRepository(dataSource);
    await new MerchantRepository(dataSource).create(
      { id: 'acme', name: 'Acmé \u0001 "x"', timeZone: 'UTC' },
      { ...BY, reason: 'a new customer' },
    );
    const { id } = await rules.create('acme', ruleSpec(), BY);
    for (let version = 1; version < 4; version++) await rules.replace('acme', id, [version], ruleSpec({ priority: version }), BY);
    await rules.create(null, ruleSpec({ cost: 3 }), BY);
  });
  afterEach(() => close());

  /** As somebody with the rights of the database's owner. */
  async function tamper(...statements: string[]): Promise<void> {
    for (const statement of ['ALTER TABLE audit DISABLE TRIGGER USER', ...statements, 'ALTER TABLE audit ENABLE TRIGGER USER']) {
      await dataSource.query(statement);
    }
  }

  it('is one chain without gaps, and holds who, what and why', async () => {
    const { rows, head, faults } = await verifyAuditChain(dataSource);
    expect({ rows, seq: head.seq, faults }).toEqual({ rows: ROWS, seq: ROWS, faults: [] });
    expect(head.hash).toMatch(/^[0-9a-f]{64}$/);
    const listed = await new AuditRepository(dataSource).list({ merchantId: 'acme' }, { limit: 10 });
    expect(listed.map(({ seq, action }) => [seq, action])).toEqual([
      ['5', 'rule.replaced'],
      ['4', 'rule.replaced'],
      ['3', 'rule.replaced'],
      ['2', 'rule.created'],
      ['1', 'merchant.created'],
    ]);
    expect(listed.at(-1)).toMatchObject({ actor: 'admin', reason: 'a new customer', requestId: 'request-1' });
  });

  it('is the same chain whatever time zone and number format a session has', async () => {
    for (const setting of [`SET TimeZone = 'Asia/Kathmandu'`, `SET DateStyle = 'German'`, 'SET extra_float_digits = 0'])
      await dataSource.query(setting);
    expect((await verifyAuditChain(dataSource)).faults).toEqual([]);
  });

  it('stays one chain when many write at once', async () => {
    const merchants = new MerchantRepository(dataSource);
    await Promise.all(Array.from({ length: 40 }, (_, i) => merchants.create({ id: `m${i}`, name: 'x', timeZone: 'UTC' }, BY)));
    const { rows, faults } = await verifyAuditChain(dataSource);
    expect({ rows, faults }).toEqual({ rows: ROWS + 40, faults: [] });
  });

  it('is one chain over statements of many rows and none, and writes its head once for each of them', async () => {
    const many = (actor: string, rows: number) =>
      `INSERT INTO audit (actor, action) SELECT '${actor} ' || i, 'rule.created' FROM generate_series(1, ${rows}) i`;
    const written = await dataSource.transaction(async (manager) => {
      const updates = async () => {
        const [row] = (await manager.query(`SELECT pg_stat_get_xact_tuples_updated('audit_head'::regclass)::int AS n`)) as { n: number }[];
        return row!.n;
      };
      const before = await updates();
      for (const statement of [many('first', 300), many('none', 0), `${many('second', 300)} RETURNING seq`]) await manager.query(statement);
      return (await updates()) - before;
    });
    expect(written).toBe(2);
    expect(await verifyAuditChain(dataSource)).toMatchObject({ rows: ROWS + 600, faults: [] });
    const listed = await new AuditRepository(dataSource).list({}, { limit: 301 });
    expect([listed.at(0)!.actor, listed.at(-2)!.actor, listed.at(-1)!.actor]).toEqual(['second 300', 'second 1', 'first 300']);
  });

  it('stays one chain behind a statement and a transaction that failed', async () => {
    const rows = `INSERT INTO audit (actor, action) SELECT 'x', CASE WHEN i < 50 THEN 'rule.created' END FROM generate_series(1, 50) i`;
    await expect(dataSource.query(rows)).rejects.toThrow(/null value/);
    const interrupted = dataSource.transaction(async (manager) => {
      await manager.query(`INSERT INTO audit (actor, action) VALUES ('x', 'rule.created'), ('y', 'rule.created')`);
      throw new Error('interrupted');
    });
    await expect(interrupted).rejects.toThrow('interrupted');
    await dataSource.query(`WITH one AS (INSERT INTO audit (actor, action) VALUES ('a', 'rule.created') RETURNING seq)
      INSERT INTO audit (actor, action) SELECT 'b', 'rule.created' FROM one`);
    expect(await verifyAuditChain(dataSource)).toMatchObject({ rows: ROWS + 2, faults: [] });
  });

  it.each(['UPDATE audit SET actor = actor', 'DELETE FROM audit', 'TRUNCATE audit', 'DELETE FROM audit WHERE false'])(
    'refuses %s',
    async (statement) => {
      await expect(dataSource.query(statement)).rejects.toThrow('rows of the audit are neither changed nor deleted');
    },
  );

  it.each([
    [
      'another actor',
      [`UPDATE audit SET actor = 'somebody' WHERE seq = 3`],
      [{ seq: 3, fault: 'the row is not what was written, or was added' }],
    ],
    [
      'another time',
      [`UPDATE audit SET at = at - interval '1 microsecond' WHERE seq = 3`],
      [{ seq: 3, fault: 'the row is not what was written, or was added' }],
    ],
    [
      'another content',
      [`UPDATE audit SET after = jsonb_set(after, '{cost}', '2') WHERE seq = 6`],
      [{ seq: 6, fault: 'the row is not what was written, or was added' }],
    ],
    ['a row less', ['DELETE FROM audit WHERE seq = 3'], [{ seq: 3, fault: 'the row is missing' }]],
    ['several rows less', ['DELETE FROM audit WHERE seq IN (2, 3, 4)'], [{ seq: 2, fault: 'the rows up to 4 are missing' }]],
    ['the first row less', ['DELETE FROM audit WHERE seq = 1'], [{ seq: 1, fault: 'the row is missing' }]],
    ['the last row less', ['DELETE FROM audit WHERE seq = 6'], [{ seq: 6, fault: 'the rows up to 6 are missing' }]],
    ['no rows', ['DELETE FROM audit'], [{ seq: 1, fault: 'the rows up to 6 are missing' }]],
    [
      'a row more at the end',
      [`INSERT INTO audit (actor, action, seq, hash) VALUES ('x', 'rule.created', 7, '\\x00')`],
      [
        { seq: 7, fault: 'the row is not what was written, or was added' },
        { seq: 7, fault: 'rows were added behind the head of the chain' },
      ],
    ],
    [
      'two rows changing places',
      ['UPDATE audit SET seq = 99 WHERE seq = 3', 'UPDATE audit SET seq = 3 WHERE seq = 4', 'UPDATE audit SET seq = 4 WHERE seq = 99'],
      [3, 4, 5].map((seq) => ({ seq, fault: 'the row is not what was written, or was added' })),
    ],
    [
      'a row whose hash was computed anew',
      [
        `UPDATE audit SET actor = 'somebody' WHERE seq = 3`,
        `UPDATE audit a SET hash = sha256((SELECT hash FROM audit WHERE seq = 2) || convert_to(jsonb_build_array(seq, (extract(epoch FROM at) * 1000000)::bigint,
           actor, request_id, action, merchant_id, rule_id, reason, before, after)::text, 'UTF8')) WHERE seq = 3`,
      ],
      [{ seq: 4, fault: 'the row is not what was written, or was added' }],
    ],
  ])('shows %s', async (_what, statements, faults) => {
    await tamper(...statements);
    expect((await verifyAuditChain(dataSource)).faults).toEqual(faults);
  });

  it('shows a chain that was written anew from a row on, if its head was noted before', async () => {
    const { head } = await verifyAuditChain(dataSource);
    await tamper('DELETE FROM audit', `UPDATE audit_head SET seq = 0, hash = ''`);
    for (let i = 0; i <= ROWS; i++) await new MerchantRepository(dataSource).create({ id: `m${i}`, name: 'x', timeZone: 'UTC' }, BY);
    expect((await verifyAuditChain(dataSource)).faults).toEqual([]);
    expect((await verifyAuditChain(dataSource, { expected: head })).faults).toEqual([
      { seq: ROWS, fault: 'the row differs from the one that was noted' },
    ]);
    const later = { seq: 1_000, hash: head.hash };
    expect((await verifyAuditChain(dataSource, { expected: later })).faults).toEqual([
      { seq: 1_000, fault: 'the row that was noted is missing' },
    ]);
  });

  it('can be written by a role that may neither change the rows nor see the head', async () => {
    await dataSource.query('CREATE ROLE writer_of_audit');
    try {
      await dataSource.query('GRANT SELECT, INSERT ON audit TO writer_of_audit');
      await dataSource.transaction(async (manager) => {
        await manager.query('SET LOCAL ROLE writer_of_audit');
        await manager.query(`INSERT INTO audit (actor, action) VALUES ('x', 'rule.created')`);
        await manager.query('SAVEPOINT before_trials');
        for (const statement of ['DELETE FROM audit', 'UPDATE audit_head SET seq = 0', 'SELECT * FROM audit_head']) {
          await expect(manager.query(statement)).rejects.toThrow(/permission denied/);
          await manager.query('ROLLBACK TO SAVEPOINT before_trials');
        }
      });
      expect((await verifyAuditChain(dataSource)).rows).toBe(ROWS + 1);
    } finally {
      await dataSource.query('DROP OWNED BY writer_of_audit');
      await dataSource.query('DROP ROLE writer_of_audit');
    }
  });
});
