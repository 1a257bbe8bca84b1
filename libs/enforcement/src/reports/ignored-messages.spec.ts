import { Registry } from 'prom-client';
import { IgnoredMessages } from './ignored-messages.js';

test('each kind of ignored message is counted each time, and logged once until it was quiet for a minute', async () => {
  const registry = new Registry();
  const said: object[] = [];
  const clock = { nowMs: 0 };
  const ignored = new IgnoredMessages({
    registry,
    logger: { warn: (fields: object) => void said.push(fields) },
    now: () => clock.nowMs,
  });
  for (; clock.nowMs < 120_000; clock.nowMs += 1000)
    ignored.add({ kind: 'change', reason: 'malformed', detail: 'must be the id of a merchant' });
  ignored.add({ kind: 'snapshot', reason: 'newer_format', detail: 'format 2' });
  expect(said).toEqual([
    { kind: 'change', reason: 'malformed', detail: 'must be the id of a merchant' },
    { kind: 'snapshot', reason: 'newer_format', detail: 'format 2' },
  ]);
  clock.nowMs += 60_000;
  ignored.add({ kind: 'change', reason: 'malformed', detail: 'again' });
  expect(said).toHaveLength(3);
  const text = await registry.metrics();
  expect(text).toContain('tollgate_ignored_messages_total{kind="change",reason="malformed"} 121');
  expect(text).toContain('tollgate_ignored_messages_total{kind="snapshot",reason="newer_format"} 1');
});
