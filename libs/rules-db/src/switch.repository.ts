import { type DataSource, type EntityManager, IsNull, LessThanOrEqual } from 'typeorm';
import { isOn, MOST_SWITCHES, type Layer, type SwitchName } from '#limiter';
import type { Actor } from './change.js';
import { recordChange } from './change-log.js';
import { TooManySwitchesError } from './errors.js';
import { raiseVersion } from './rule-owner.js';
import { SwitchEntity } from './switch.entity.js';

/** What a switch concerns; null: all layers, all merchants. */
export interface SwitchScope {
  readonly layer: Layer | null;
  readonly merchantId: string | null;
}

/**
 * What is switched on. Each change is one transaction with its audit row, and a new version of the default rules' snapshot, which carries the switches to
 * the gateways.
 */
export class SwitchRepository {
  constructor(
    private readonly dataSource: DataSource,
    private readonly nowMs: () => number = Date.now,
  ) {}

  /** Those of this name that are on and have not ended, in the order in which they were switched on. */
  async list(name: SwitchName): Promise<SwitchEntity[]> {
    const rows = await this.dataSource.manager.find(SwitchEntity, { where: { name }, order: { id: 'ASC' } });
    return rows.filter(({ until }) => isOn({ untilMs: until?.getTime() ?? null }, this.nowMs()));
  }

  /** One that is on already gets the new end and the new reason. @throws TooManySwitchesError */
  async switchOn(name: SwitchName, scope: SwitchScope, until: Date | null, by: Actor): Promise<void> {
    await this.change(async (manager) => {
      const before = await found(manager, name, scope);
      if (before) await manager.delete(SwitchEntity, { id: before.id });
      // Those that ended by themselves make room.
      await manager.delete(SwitchEntity, { until: LessThanOrEqual(new Date(this.nowMs())) });
      if ((await manager.count(SwitchEntity)) >= MOST_SWITCHES) throw new TooManySwitchesError(MOST_SWITCHES);
      const values = { name, ...scope, until, reason: by.reason ?? null, actor: by.name };
      const { identifiers } = await manager.insert(SwitchEntity, values);
      const after = await manager.findOneByOrFail(SwitchEntity, { id: (identifiers[0] as { id: string }).id });
      return { action: 'switch.on', before: before ?? null, after, by };
    });
  }

  /** What is off already stays so, and nothing is recorded. */
  async switchOff(name: SwitchName, scope: SwitchScope, by: Actor): Promise<void> {
    await this.change(async (manager) => {
      const before = await found(manager, name, scope);
      if (!before) return undefined;
      await manager.delete(SwitchEntity, { id: before.id });
      return { action: 'switch.off', before, after: null, by };
    });
  }

  private async change(make: (manager: EntityManager) => Promise<Made | undefined>): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      // One at a time: they are counted, and a scope has one row.
      await manager.query('LOCK TABLE switch IN SHARE ROW EXCLUSIVE MODE');
      const made = await make(manager);
      if (made === undefined) return;
      await recordChange(manager, { merchantId: null, ...made, version: await raiseVersion(manager, null) });
    });
  }
}

interface Made {
  readonly action: 'switch.on' | 'switch.off';
  readonly before: SwitchEntity | null;
  readonly after: SwitchEntity | null;
  readonly by: Actor;
}

function found(manager: EntityManager, name: SwitchName, { layer, merchantId }: SwitchScope): Promise<SwitchEntity | null> {
  return manager.findOneBy(SwitchEntity, { name, layer: layer ?? IsNull(), merchantId: merchantId ?? IsNull() });
}
