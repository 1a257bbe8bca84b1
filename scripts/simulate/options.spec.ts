import { join } from 'node:path';
import { Refusal } from '../command-line.mjs';
import { helpOf, readOptions } from './options.mjs';

const offer = { patterns: ['poisson', 'bursty'], algorithms: ['token_bucket', 'gcra'], topologies: ['central_store', 'gossip'] };
const read = (...args: string[]) => readOptions(args, { TOLLGATE_DATA_DIR: '/data' }, offer);
const faultsOf = (...args: string[]): string => {
  try {
    read(...args);
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
  return 'none';
};

describe('npm run simulate', () => {
  it('needs to know no more than what', () => {
    expect(read('algorithms')).toMatchObject({
      what: 'algorithms',
      pattern: 'bursty',
      seed: 1,
      bound: { limit: 100, windowMs: 60_000 },
      algorithms: ['token_bucket', 'gcra'],
      out: join('/data', 'simulation'),
    });
    expect(read('topologies')).toMatchObject({
      what: 'topologies',
      bound: { limit: 100, windowMs: 1000 },
      topologies: ['central_store', 'gossip'],
      nodes: 4,
    });
  });

  it('takes what it is told', () => {
    const options = read(
      'algorithms',
      '--pattern',
      'poisson',
      '--seed',
      '7',
      '--limit',
      '20',
      '--window-ms',
      '500',
      '--seconds',
      '10',
      '--load',
      '0.5',
      '--algorithms',
      'gcra',
      '--out',
      '/tmp/out',
    );
    expect(options).toMatchObject({
      pattern: 'poisson',
      seed: 7,
      bound: { limit: 20, windowMs: 500 },
      seconds: 10,
      load: 0.5,
      algorithms: ['gcra'],
      out: '/tmp/out',
    });
  });

  it('knows --help, beside whatever else', () => {
    expect(read('--help')).toBe('help');
    expect(helpOf(offer)).toContain('token_bucket, gcra');
  });

  it.each([
    [[], 'Say what to simulate: algorithms or topologies; got nothing.'],
    [['weather'], 'got weather.'],
    [['algorithms', 'topologies'], 'got algorithms topologies.'],
    [['algorithms', '--speed', '3'], "Unknown option '--speed'"],
    [['algorithms', '--seed', '-1'], 'argument is ambiguous'],
    [['algorithms', '--seed=-1'], '--seed must be a whole number from 0 to 4294967295; got -1.'],
    [['algorithms', '--limit', '1.5'], '--limit must be a whole number from 1 to 1000000; got 1.5.'],
    [['algorithms', '--window-ms', '0'], '--window-ms must be a whole number'],
    [['algorithms', '--load', '0'], '--load must be a number from 0.01 to 100; got 0.'],
    [['algorithms', '--pattern', 'wild'], '--pattern must be one of poisson, bursty; got wild.'],
    [['algorithms', '--algorithms', 'gcra,magic,tea'], '--algorithms must be of token_bucket, gcra; got magic, tea.'],
    [['algorithms', '--algorithms', ''], 'got nothing.'],
    [['algorithms', '--nodes', '3'], '--nodes means nothing to algorithms.'],
    [['topologies', '--algorithms', 'gcra'], '--algorithms means nothing to topologies.'],
    [['topologies', '--keys', '33'], '--keys must be a whole number from 1 to 32; got 33.'],
    [['algorithms', '--csv', '/no/such/file'], '--csv must be a file; there is no /no/such/file.'],
    [
      ['algorithms', '--csv', 'package.json', '--keys', '3', '--load', '2'],
      '--csv goes without --keys, --load: the file says what comes when.',
    ],
    [['algorithms', '--out', ''], '--out must be a directory; got nothing.'],
    [['algorithms', '--limit', '1000000', '--window-ms', '1'], 'requests; at most 2,000,000'],
  ])('names what is wrong: %j', (args, fault) => {
    expect(faultsOf(...args)).toContain(fault);
  });

  it('names every fault', () => {
    expect(faultsOf('algorithms', '--seed', 'x', '--limit', 'y', '--nodes', '2').split('\n')).toHaveLength(3);
  });
});
