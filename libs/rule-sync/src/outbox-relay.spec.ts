import { byUrgency, collapse, type OutboxRow } from './outbox-relay.js';

const at = (ms: number): Date => new Date(ms);

describe('collapse', () => {
  const rows: [string, OutboxRow[], unknown][] = [
    ['nothing', [], []],
    [
      'two changes of one merchant become one reload: highest version, oldest change',
      [
        { id: '1', merchantId: 'acme', version: 4, createdAt: at(10) },
        { id: '2', merchantId: 'acme', version: 5, createdAt: at(20) },
      ],
      [{ merchantId: 'acme', version: 5, changedAtMs: 10 }],
    ],
    [
      'a version never goes back, in whatever order the rows come',
      [
        { id: '1', merchantId: 'acme', version: 5, createdAt: at(20) },
        { id: '2', merchantId: 'acme', version: 4, createdAt: at(10) },
      ],
      [{ merchantId: 'acme', version: 5, changedAtMs: 10 }],
    ],
    [
      'a plan is neither the default rules nor a merchant of its name',
      [
        { id: '1', merchantId: null, version: 1, createdAt: at(1) },
        { id: '2', merchantId: null, plan: 'pro', version: 2, createdAt: at(2) },
        { id: '3', merchantId: 'pro', version: 3, createdAt: at(3) },
        { id: '4', merchantId: null, plan: 'pro', version: 4, createdAt: at(4) },
      ],
      [
        { merchantId: null, version: 1, changedAtMs: 1 },
        { merchantId: null, plan: 'pro', version: 4, changedAtMs: 2 },
        { merchantId: 'pro', version: 3, changedAtMs: 3 },
      ],
    ],
    [
      'the default rules are not the merchant called "null"',
      [
        { id: '1', merchantId: null, version: 1, createdAt: at(1) },
        { id: '2', merchantId: 'null', version: 2, createdAt: at(2) },
      ],
      [
        { merchantId: null, version: 1, changedAtMs: 1 },
        { merchantId: 'null', version: 2, changedAtMs: 2 },
      ],
    ],
  ];

  test.each(rows)('%s', (_, given, expected) => {
    expect(collapse(given)).toEqual(expected);
  });
});

describe('byUrgency', () => {
  const ofOne = (count: number, ms: number, from = 0): OutboxRow[] =>
    Array.from({ length: count }, (_, i) => ({ id: String(from + i), merchantId: `m${from + i}`, version: 1, createdAt: at(ms) }));
  const edit: OutboxRow = { id: '900', merchantId: 'acme', version: 2, createdAt: at(11) };
  const ofPlan: OutboxRow = { id: '901', merchantId: null, plan: 'pro', version: 2, createdAt: at(10) };
  const ofDefaults: OutboxRow = { id: '902', merchantId: null, version: 2, createdAt: at(10) };

  it.each([
    ['a hundred merchants of one transaction are urgent', ofOne(100, 10), [], 100],
    ['a hundred and one are a bulk', [], ofOne(101, 10), 0],
    ['hundreds that were edited one by one are urgent', Array.from({ length: 300 }, (_, i) => ofOne(1, i, i)).flat(), [], 300],
    ['what has no time is urgent', ofOne(300, 10).map((row) => ({ ...row, createdAt: null })), [], 300],
  ])('%s', (_what, urgent, bulk, most) => {
    expect(byUrgency([...urgent, ...bulk])).toEqual({ urgent, bulk });
    expect(urgent).toHaveLength(most);
  });

  it('a transaction that was found large stays so to its last row', () => {
    const rows = ofOne(150, 10);
    const bulks = new Set<number>();
    byUrgency(rows.slice(0, 120), bulks);
    expect(byUrgency([...rows.slice(120), edit], bulks)).toEqual({ urgent: [edit], bulk: rows.slice(120) });
  });

  it('an edit, a plan and the default rules are urgent beside a bulk, also those of its own transaction', () => {
    const bulk = ofOne(400, 10);
    expect(byUrgency([...bulk.slice(0, 200), edit, ofPlan, ofDefaults, ...bulk.slice(200)])).toEqual({
      urgent: [edit, ofPlan, ofDefaults],
      bulk,
    });
  });
});
