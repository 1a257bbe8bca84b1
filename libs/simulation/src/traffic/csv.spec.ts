import { arrivalsFromCsv, CsvTrafficError } from './csv.js';

const faultOf = (text: string): string => {
  try {
    arrivalsFromCsv(text);
  } catch (error) {
    if (error instanceof CsvTrafficError) return error.message;
    throw error;
  }
  return 'none';
};

describe('traffic from CSV', () => {
  it('reads times, keys and costs, in whatever order of columns and rows, from the first on', () => {
    const text = '\ufeffcost,Key,timestamp\r\n2,acme,1500\r\n1,"glo""bex, inc",1000.5\r\n\r\n3,acme,1500\r\n';
    expect(arrivalsFromCsv(text)).toEqual([
      { atMs: 0, key: 'glo"bex, inc', cost: 1 },
      { atMs: 499.5, key: 'acme', cost: 2 },
      { atMs: 499.5, key: 'acme', cost: 3 },
    ]);
  });

  it('needs no more than times', () => {
    expect(arrivalsFromCsv('timestamp\n2026-01-31T12:00:00Z\n2026-01-31T13:00:00.250+01:00')).toEqual([
      { atMs: 0, key: 'all', cost: 1 },
      { atMs: 250, key: 'all', cost: 1 },
    ]);
  });

  it.each([
    [
      'a word for a time',
      'timestamp,cost\n1,1\nnoon,1\n',
      'line 3, timestamp: must be milliseconds or ISO 8601 with a zone, such as 2026-01-31T12:00:00.250Z; got "noon"',
    ],
    ['a time without a zone', 'timestamp\n2026-01-31T12:00:00\n', 'line 2, timestamp: must be'],
    ['a day that does not exist', 'timestamp\n2026-13-45T12:00:00Z\n', 'line 2, timestamp: must be'],
    ['no cost', 'timestamp,cost\n1,\n', 'line 2, cost: must be a whole number from 1 to 1000000000; got ""'],
    ['a cost of nothing', 'timestamp,cost\n1,0\n', 'line 2, cost: must be a whole number'],
    ['half a token', 'timestamp,cost\n1,1.5\n', 'line 2, cost: must be a whole number'],
    ['an empty key', 'timestamp,key\n1,\n', 'line 2, key: must have 1 to 256 characters; got 0'],
    ['an unknown field', 'timestamp,user\n1,a\n', 'line 1, "user": unknown field; there are timestamp, key, cost'],
    ['no times', 'key\na\n', 'line 1, timestamp: is missing'],
    ['a field twice', 'timestamp,timestamp\n1,2\n', 'line 1, timestamp: stands there twice'],
    ['no rows', 'timestamp\n', 'line 2: there is no row under the heading'],
    ['nothing at all', '', 'line 2: there is no row'],
    ['too few fields', 'timestamp,key\n1,a\n2\n', 'line 3: '],
    ['an open quote', 'timestamp,key\n1,"a\n', 'line 2: '],
    ['a line without end', `timestamp,key\n1,${'a'.repeat(5000)}\n`, 'line 2: '],
  ])('names line and field: %s', (_title, text, fault) => {
    expect(faultOf(text)).toContain(fault);
  });

  it('names all faults, up to ten', () => {
    expect(faultOf('timestamp,cost\nx,y\n1,z\n').split('\n')).toHaveLength(3);
    expect(faultOf(`timestamp\n${'x\n'.repeat(100)}`).split('\n')).toHaveLength(10);
  });
});
