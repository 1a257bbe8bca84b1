import { readSample } from './sample.js';

const faultsOf = async (text: string): Promise<string[]> => {
  try {
    await readSample(text);
  } catch (error) {
    return (error as { errors: { pointer: string; code: string; detail: string }[] }).errors.map(({ pointer, code, detail }) =>
      [pointer, code.replace('preview.sample.', ''), detail].join(' '),
    );
  }
  return [];
};

it('a sample is read in the order of time, whatever the order of columns and rows', async () => {
  const text =
    '\ufeffPath,method,AT,ip,cost\r\n/a?x=1,GET,2026-11-22T10:00:01Z,2001:DB8::1,\r\n\r\n"/b,c",POST,1795341600500.25,192.0.2.7,0\r\n';
  expect(await readSample(text)).toEqual([
    { atMs: 1_795_341_600_500.25, method: 'POST', path: '/b,c', ip: '192.0.2.7', cost: 0 },
    { atMs: 1_795_341_601_000, method: 'GET', path: '/a', ip: '2001:db8::1', cost: undefined },
  ]);
});

it.each([
  ['a word for a time', 'at,method,path\nnoon,GET,/\n', '/sample malformed line 2, at: must be milliseconds since 1970'],
  ['a time without a zone', 'at,method,path\n2026-11-22T10:00:00,GET,/\n', 'line 2, at: must be'],
  ['a method in small letters', 'at,method,path\n1,get,/\n', 'line 2, method: must be an HTTP method in capitals; got "get"'],
  ['a path that no client sends', 'at,method,path\n1,GET,a b\n', 'line 2, path: must be a path as a client sends it'],
  ['half an address', 'at,method,path,ip\n1,GET,/,192.0.2\n', 'line 2, ip: must be an IP address; got "192.0.2"'],
  ['half a token', 'at,method,path,cost\n1,GET,/,0.5\n', 'line 2, cost: must be a whole number from 0 to 1000000000; got "0.5"'],
  ['an unknown column', 'at,method,path,user\n', 'line 1: "user" is no column that is known here; at, method, path, ip, cost are'],
  ['a column twice', 'at,at,method,path\n', 'line 1: the column at stands there twice'],
  ['a missing column', 'at,path\n', 'line 1: the column method is missing'],
  ['no row', 'at,method,path\n', 'must have a row below its heading'],
  ['nothing', '', 'must have a row below its heading'],
  ['an open quote', 'at,method,path\n1,GET,"/\n', 'malformed line '],
  ['a line without end', `at,method,path\n1,GET,/${'a'.repeat(20_000)}\n`, 'malformed line '],
  ['too few fields', 'at,method,path\n1,GET\n', 'malformed line 2: '],
])('the fault says where %s is', async (_what, text, expected) => {
  const [fault, ...others] = await faultsOf(text);
  expect([fault, others]).toEqual([expect.stringContaining(expected), []]);
});

it('at most twenty faults are named, and a sample has so many rows and no more', async () => {
  expect(await faultsOf(`at,method,path\n${'x,y,z\n'.repeat(1_000)}`)).toHaveLength(20);
  await expect(readSample(`at,method,path\n${'1,A,/\n'.repeat(4)}`, 3)).rejects.toMatchObject({
    errors: [{ code: 'preview.sample.too_many_rows', detail: 'must have at most 3 rows' }],
  });
});

it('while a large sample is read, other work has its turn', async () => {
  let turns = 0;
  let isReading = true;
  const count = (): void => {
    turns++;
    if (isReading) setImmediate(count);
  };
  setImmediate(count);
  const text = `at,method,path\n${'1,A,/transactions/17\n'.repeat(5_000)}`;
  expect(await readSample(text)).toHaveLength(5_000);
  isReading = false;
  expect(turns).toBeGreaterThanOrEqual(Math.floor(text.length / 8_192));
});
