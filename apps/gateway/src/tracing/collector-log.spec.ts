import { CollectorLog } from './collector-log.js';

function log() {
  const lines: unknown[][] = [];
  const write = (...line: unknown[]): void => void lines.push(line);
  return { lines, log: new CollectorLog({ warn: write, info: write } as never, 'http://collector:4318') };
}

const failure = (message: string, code?: string | number): Error => Object.assign(new Error(message), { code });

test('each reason is told once, however often it fails', () => {
  const { lines, log: collector } = log();
  for (let ms = 0; ms < 5_000; ms += 1_000) {
    collector.failed(failure('connect ECONNREFUSED 127.0.0.1:1', 'ECONNREFUSED'), ms);
    collector.failed(failure('Unauthorized', 401), ms);
    collector.failed(failure('Request timed out'), ms);
  }
  expect(lines).toEqual([
    [
      { collector: 'http://collector:4318', code: 'ECONNREFUSED', reason: 'connect ECONNREFUSED 127.0.0.1:1' },
      'the collector takes no traces',
    ],
    [{ collector: 'http://collector:4318', code: 401, reason: 'Unauthorized' }, 'the collector takes no traces'],
    [{ collector: 'http://collector:4318', code: undefined, reason: 'Request timed out' }, 'the collector takes no traces'],
  ]);
});

test('a collector that now takes spans and now does not is told of once, and as back after a minute without a failure', () => {
  const { lines, log: collector } = log();
  collector.took(0);
  for (let ms = 0; ms < 600_000; ms += 20_000) {
    collector.failed(failure('Request timed out'), ms);
    collector.took(ms + 10_000);
  }
  expect(lines).toHaveLength(1);
  collector.took(639_999);
  expect(lines).toHaveLength(1);
  collector.took(640_000);
  collector.took(641_000);
  expect(lines.slice(1)).toEqual([[{ collector: 'http://collector:4318' }, 'the collector takes traces again']]);
  collector.failed(failure('Request timed out'), 642_000);
  expect(lines).toHaveLength(3);
});

test('a reason that the collector has written is cut', () => {
  const { lines, log: collector } = log();
  collector.failed(failure('x'.repeat(10_000), 418), 0);
  expect(lines[0]![0]).toMatchObject({ reason: 'x'.repeat(200) });
});
