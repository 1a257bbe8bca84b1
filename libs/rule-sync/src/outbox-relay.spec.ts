import { collapse, type OutboxRow } from './outbox-relay.js';

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
