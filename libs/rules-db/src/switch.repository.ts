import { type DataSource, type EntityManager, IsNull, LessThanOrEqual } from 'typeorm';
import { isOn, MOST_SWITCHES, type Layer, type SwitchName } from '#limiter';
import type { Actor } from './change.js';
import { recordChanges } from './change-log.js';
import { TooManySwitchesError } from './errors.js';
import { raiseVersion } from './rule-owner.js';
import { SwitchEntity } from './switch.entity.js';

/** What a switch concerns; null: all layers, all merchants. */
export interface SwitchScope {
  readonly layer: Layer | null;
  readonly merchantId: string | null;
}

/** A scope for which a switch is to be on. */
export interface WantedSwitch extends SwitchScope {
  readonly until: Date | null;
  readonly reason: string | null;
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
    return rows.filter((row) => this.isOn(row));
  }

  /** One that is on already gets the new end and the new reason. @throws TooManySwitchesError */
  async switchOn(name: SwitchName, scope: SwitchScope, until: Date | null, by: Actor): Promise<void> {
    await this.change(async (manager) => [await this.on(manager, name, { ...scope, until, reason: by.reason ?? null }, by)]);
  }

  /** What is off already stays so, and nothing is recorded. */
  async switchOff(name: SwitchName, scope: SwitchScope, by: Actor): Promise<void> {
    await this.change(async (manager) => {
      const before = await found(manager, name, scope);
      return before ? [await off(manager, before, by)] : [];
    });
  }

  /** On for these scopes, each once, and for no others. Of what is so already nothing is recorded. @throws TooManySwitchesError */
  async replaceAll(name: SwitchName, wanted: readonly WantedSwitch[], by: Actor): Promise<void> {
    await this.change(async (manager) => {
      const made: Made[] = [];
      const scopes = new Set(wanted.map(scopeText));
      for (const before of await manager.find(SwitchEntity, { where: { name }, order: { id: 'ASC' } })) {
        // One that has ended is off already.
        if (!scopes.has(scopeText(before)) && this.isOn(before)) made.push(await off(manager, before, by));
      }
      for (const each of wanted) {
        const before = await found(manager, name, each);
        if (before && before.until?.getTime() === each.until?.getTime() && before.reason === each.reason) continue;
        const reason = each.reason ?? by.reason;
        made.push(await this.on(manager, name, { ...each, reason: reason ?? null }, reason === undefined ? by : { ...by, reason }));
      }
      return made;
    });
  }

  private isOn({ until }: SwitchEntity): boolean {
    return isOn({ untilMs: until?.getTime() ?? null }, this.nowMs());
  }

  private async on(manager: EntityManager, name: SwitchName, wanted: WantedSwitch, by: Actor): Promise<Made> {
    const { layer, merchantId, until, reason } = wanted;
    const before = await found(manager, name, wanted);
    if (before) await manager.delete(SwitchEntity, { id: before.id });
    // Those that ended by themselves make room.
    await manager.delete(SwitchEntity, { until: LessThanOrEqual(new Date(this.nowMs())) });
    if ((await manager.count(SwitchEntity)) >= MOST_SWITCHES) throw new TooManySwitchesError(MOST_SWITCHES);
    const { identifiers } = await manager.insert(SwitchEntity, { name, layer, merchantId, until, reason, actor: by.name });
    const after = await manager.findOneByOrFail(SwitchEntity, { id: (identifiers[0] as { id: string }).id });
    return { action: 'switch.on', before: before ?? null, after, by };
  }

  private async change(make: (manager: EntityManager) => Promise<readonly Made[]>): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      // One at a time: they are counted, and a scope has one row.
      await manager.query('LOCK TABLE switch IN SHARE ROW EXCLUSIVE MODE');
      const made = await make(manager);
      if (made.length === 0) return;
      const version = await raiseVersion(manager, null);
      await recordChanges(
        manager,
        made.map((each) => ({ merchantId: null, ...each, version })),
      );
    });
  }
}

async function off(manager: EntityManager, before: SwitchEntity, by: Actor): Promise<Made> {
  await manager.delete(SwitchEntity, { id: before.id });
  return { action: 'switch.off', before, after: null, by };
}

function scopeText({ layer, merchantId }: SwitchScope): string {
  return JSON.stringify([layer, merchantId]);
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
