import type { DataSource } from 'typeorm';
import { AuditRepository, SwitchRepository, VersionConflictError } from '#rules-db';
import { BY } from '../../support/factories/merchants.js';
import { migratedDatabase } from './database.js';

const ALL = { layer: null, merchantId: null };
const ACME = { layer: null, merchantId: 'acme' };

describe('the version of a switch', () => {
  let dataSource: DataSource;
  let close: () => Promise<void>;
  let nowMs = Date.parse('2026-11-23T08:00:00Z');
  let switches: SwitchRepository;

  beforeAll(async () => {
    ({ dataSource, close } = await migratedDatabase());
    switches = new SwitchRepository(dataSource, () => nowMs);
  });
  afterAll(() => close());

  const change = (expected: readonly number[] | 'any' = 'any', name: 'kill' | 'shadow' = 'kill') => ({ name, expected, by: BY });
  const version = async (name: 'kill' | 'shadow' = 'kill') => (await switches.find(name)).version;

  it('counts the changes of that switch, and nothing that changes nothing', async () => {
    expect([await version(), await version('shadow')]).toEqual([1, 1]);
    await switches.switchOn(change(), ALL, null);
    await switches.switchOff(change(), ACME);
    expect([await version(), await version('shadow')]).toEqual([2, 1]);
    await switches.replaceAll(change([2]), [{ ...ALL, until: null, reason: null }]);
    expect(await version()).toBe(2);
    await switches.replaceAll(change([2]), [
      { ...ALL, until: null, reason: 'else' },
      { ...ACME, until: null, reason: null },
    ]);
    // Two scopes, and one change.
    expect(await version()).toBe(3);
  });

  it('keeps one from overwriting what another has changed', async () => {
    const before = await switches.find('kill');
    await expect(switches.switchOn(change([before.version - 1]), ACME, null)).rejects.toThrow(VersionConflictError);
    await expect(switches.switchOff(change([]), ALL)).rejects.toThrow(VersionConflictError);
    expect(await switches.find('kill')).toEqual(before);
    const both = await Promise.allSettled([1, 2].map(() => switches.switchOn(change([before.version]), ACME, null)));
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await version()).toBe(before.version + 1);
  });

  it('stays as it is when a scope ends by itself', async () => {
    await switches.switchOn(change('any', 'shadow'), ACME, new Date(nowMs + 1_000));
    const on = await switches.find('shadow');
    nowMs += 2_000;
    expect(on.on).toHaveLength(1);
    expect(await switches.find('shadow')).toEqual({ version: on.version, on: [] });
  });

  it('stands in the history of the switch, and of no other', async () => {
    const rows = await new AuditRepository(dataSource).list({ switchName: 'shadow' }, { limit: 10 });
    expect(rows.map(({ action, after }) => [action, (after as { version: number }).version])).toEqual([['switch.on', 2]]);
  });
});
