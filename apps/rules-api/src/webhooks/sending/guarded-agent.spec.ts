import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { AddressNotAllowedError, guardedAgent, guardedLookup, type Resolve } from './guarded-agent.js';

const resolving =
  (...addresses: string[]): Resolve =>
  () =>
    Promise.resolve(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));

describe('guardedLookup', () => {
  const look = (addresses: string[], options: object) =>
    new Promise((resolve) => {
      const lookup = guardedLookup(resolving(...addresses), (address) => !address.startsWith('10.'));
      lookup('hooks.example', options, (error, address, family) => resolve(error ? error.name : [address, family]));
    });

  it('leaves out the addresses that are not allowed', async () => {
    expect(await look(['10.0.0.1', '1.1.1.1', '2606:4700::1111'], { all: true })).toEqual([
      [
        { address: '1.1.1.1', family: 4 },
        { address: '2606:4700::1111', family: 6 },
      ],
      undefined,
    ]);
    expect(await look(['10.0.0.1', '1.1.1.1'], {})).toEqual(['1.1.1.1', 4]);
    expect(await look(['1.1.1.1', '2606:4700::1111'], { family: 6 })).toEqual(['2606:4700::1111', 6]);
  });

  it('fails if none is left', async () => {
    expect(await look(['10.0.0.1'], { all: true })).toBe('AddressNotAllowedError');
    expect(await look([], { all: true })).toBe('AddressNotAllowedError');
    expect(await look(['1.1.1.1'], { family: 6 })).toBe('AddressNotAllowedError');
  });
});

describe('guardedAgent', () => {
  let server: Server;
  let port: number;
  let reached = 0;

  beforeAll(async () => {
    server = createServer((_, answer) => void answer.end(String(++reached)));
    server.on('connection', () => reached++);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ({ port } = server.address() as AddressInfo);
  });
  afterAll(() => new Promise((resolve) => void server.close(resolve)));
  beforeEach(() => (reached = 0));

  const refusalOf = async (url: string, resolve: Resolve): Promise<unknown> => {
    const agent = guardedAgent({ allowPrivate: false, resolve });
    const error: unknown = await request(url, { dispatcher: agent }).catch((each: unknown) => each);
    await agent.destroy();
    return error;
  };

  // Every spelling that a URL takes, and names that lead there.
  it.each([
    ['127.0.0.1', []],
    ['127.1', []],
    ['0x7f000001', []],
    ['2130706433', []],
    ['017700000001', []],
    ['0.0.0.0', []],
    ['[::1]', []],
    ['[::]', []],
    ['[::ffff:127.0.0.1]', []],
    ['[::ffff:7f00:1]', []],
    ['[::127.0.0.1]', []],
    ['[64:ff9b::7f00:1]', []],
    ['169.254.169.254', []],
    ['hooks.example', ['127.0.0.1']],
    ['hooks.example', ['::1']],
    ['hooks.example', ['::ffff:127.0.0.1']],
    ['localhost', ['127.0.0.1', '::1']],
  ])('does not connect to https://%s, which is %j', async (host, addresses) => {
    expect(await refusalOf(`https://${host}:${port}/`, resolving(...addresses))).toBeInstanceOf(AddressNotAllowedError);
    expect(reached).toBe(0);
  });

  it('does not connect to a name that is public when it is asked for first, and private when it is connected to', async () => {
    let asked = 0;
    const rebinding: Resolve = () => Promise.resolve([{ address: asked++ === 0 ? '1.1.1.1' : '127.0.0.1', family: 4 }]);
    await rebinding('hooks.example');
    expect(await refusalOf(`https://hooks.example:${port}/`, rebinding)).toBeInstanceOf(AddressNotAllowedError);
    expect([asked, reached]).toEqual([2, 0]);
  });

  it('does not speak http', async () => {
    expect(await refusalOf(`http://hooks.example:${port}/`, resolving('1.1.1.1'))).toBeInstanceOf(AddressNotAllowedError);
  });

  it('connects to private addresses where they are allowed', async () => {
    const agent = guardedAgent({ allowPrivate: true, resolve: resolving('127.0.0.1') });
    for (const host of ['127.0.0.1', 'hooks.example'])
      expect((await request(`http://${host}:${port}/`, { dispatcher: agent })).statusCode).toBe(200);
    await agent.destroy();
    expect(reached).toBeGreaterThan(1);
  });
});
