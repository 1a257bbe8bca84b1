import { jest } from '@jest/globals';
import { failureOf } from '#limiter-redis';
import { Registry } from 'prom-client';
import { StoreHealth } from './store-health.js';

const OOM = failureOf(new Error("OOM command not allowed when used memory > 'maxmemory'."));
const REFUSED = failureOf(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));

let lines: string[];
let registry: Registry;
let health: StoreHealth;

beforeEach(() => {
  jest.useFakeTimers();
  lines = [];
  registry = new Registry();
  const log = (...[fields, message]: unknown[]): void =>
    void lines.push(typeof fields === 'string' ? fields : `${(fields as { code: string }).code} ${String(message)}`);
  health = new StoreHealth({ logger: { info: log, warn: log }, registry });
});

afterEach(() => {
  health.stop();
  jest.useRealTimers();
});

test('an outage is logged once for each reason', () => {
  health.changed(false);
  for (const failure of [OOM, OOM, REFUSED, OOM, REFUSED]) health.failed(failure);
  expect(lines).toEqual([
    expect.stringMatching(/^OOM .*onStoreFailure: Redis is full/),
    expect.stringMatching(/^REFUSED .*nobody listens/),
  ]);
});

test('the log says that the store is back once it has stayed so for two seconds, and tells of the next outage again', () => {
  health.failed(OOM);
  health.changed(true);
  jest.advanceTimersByTime(1999);
  expect(lines).toHaveLength(1);
  jest.advanceTimersByTime(1);
  expect(lines.slice(1)).toEqual(['Redis carries out takes again: limits are exact']);
  health.failed(OOM);
  expect(lines).toHaveLength(3);
});

test('a store that comes and goes is said to be away, once', () => {
  for (let i = 0; i < 20; i++) {
    health.changed(false);
    health.failed(OOM);
    health.changed(true);
    jest.advanceTimersByTime(500);
  }
  expect(lines).toHaveLength(1);
});

test('a store that fails again within two seconds is not said to be back', () => {
  health.failed(OOM);
  health.changed(true);
  jest.advanceTimersByTime(1000);
  health.failed(OOM);
  jest.advanceTimersByTime(5000);
  expect(lines).toHaveLength(1);
});

test('the check fails with the latest reason until the store is back', () => {
  expect(health.check).not.toThrow();
  health.failed(REFUSED);
  health.failed(OOM);
  expect(health.check).toThrow(
    "OOM: Redis is full: maxmemory is reached, and nothing can be evicted (OOM command not allowed when used memory > 'maxmemory'.)",
  );
  health.changed(true);
  expect(health.check).toThrow();
  jest.advanceTimersByTime(2000);
  expect(health.check).not.toThrow();
});

test('every failure is counted by its code', async () => {
  for (const failure of [OOM, OOM, REFUSED]) health.failed(failure);
  expect(await registry.metrics()).toContain(
    'tollgate_store_failures_total{code="OOM"} 2\ntollgate_store_failures_total{code="REFUSED"} 1',
  );
});
