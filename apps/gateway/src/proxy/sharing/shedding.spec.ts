import { ShedLog } from './shedding.js';

test('a refusal for the sake of others is logged once for each reason, and again after a minute without', () => {
  const lines: object[] = [];
  const log = new ShedLog({ warn: (fields) => void lines.push(fields), error: () => {} });
  for (let ms = 0; ms < 120_000; ms += 1000) log.add('upstream_queue', 'acme', ms);
  log.add('slow_upload', 'other', 5_000);
  expect(lines).toEqual([
    { reason: 'upstream_queue', who: 'acme' },
    { reason: 'slow_upload', who: 'other' },
  ]);
  log.add('upstream_queue', 'third', 300_000);
  expect(lines).toHaveLength(3);
});
