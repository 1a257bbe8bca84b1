import { type DataSource, type EntityManager, IsNull, LessThanOrEqual } from 'typeorm';
import { isOn, MOST_SWITCHES, type Layer, type SwitchName } from '#limiter';
import { type Actor, type ExpectedVersions, isExpected } from './change.js';
import { recordChanges } from './change-log.js';
import { TooManySwitchesError, VersionConflictError } from './errors.js';
import { raiseVersion } from './rule-owner.js';
import { SwitchEntity } from './switch.entity.js';
import { SwitchVersionEntity } from './switch-version.entity.js';

/** What a switch concerns; null: all layers, all merchants. */
export interface SwitchScope {
  readonly layer: Layer | null;
  readonly merchantId: string | null;
}

/** A switch as it stands. */
export interface StoredSwitch {
  /** Counts its changes, from 1. That something ends by itself is no change. */
  readonly version: number;
  readonly on: readonly SwitchEntity[];
}

/** A change of a switch. */
export interface SwitchChange {
  readonly name: SwitchName;
  /** The versions that may be changed. */
  readonly expected: ExpectedVersions;
  readonly by: Actor;
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

  /** What has not ended, in the order in which it was switched on. */
  async find(name: SwitchName): Promise<StoredSwitch> {
    // Both as they were at one moment.
    return this.dataSource.transaction('REPEATABLE READ', async (manager) => {
      const rows = await manager.find(SwitchEntity, { where: { name }, order: { id: 'ASC' } });
      return { version: await versionOf(manager, name), on: rows.filter((row) => this.isOn(row)) };
    });
  }

  /** One that is on already gets the new end and the new reason. @throws TooManySwitchesError, VersionConflictError */
  async switchOn(change: SwitchChange, scope: SwitchScope, until: Date | null): Promise<void> {
    const { name, by } = change;
    await this.change(change, async (manager) => [await this.on(manager, name, { ...scope, until, reason: by.reason ?? null }, by)]);
  }

  /** What is off already stays so, and nothing is recorded. @throws VersionConflictError */
  async switchOff(change: SwitchChange, scope: SwitchScope): Promise<void> {
    await this.change(change, async (manager) => {
      const before = await found(manager, change.name, scope);
      return before ? [await off(manager, before, change.by)] : [];
    });
  }

  /** On for these scopes, each once, and for no others. Of what is so already nothing is recorded. @throws TooManySwitchesError, VersionConflictError */
  async replaceAll(change: SwitchChange, wanted: readonly WantedSwitch[]): Promise<void> {
    const { name, by } = change;
    await this.change(change, async (manager) => {
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

  private async change({ name, expected }: SwitchChange, make: (manager: EntityManager) => Promise<readonly Made[]>): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      // One at a time: they are counted, and a scope has one row.
      await manager.query('LOCK TABLE switch IN SHARE ROW EXCLUSIVE MODE');
      const before = await versionOf(manager, name);
      if (!isExpected(expected, before)) throw new VersionConflictError(before);
      const made = await make(manager);
      if (made.length === 0) return;
      await manager.upsert(SwitchVersionEntity, { name, version: before + 1 }, ['name']);
      const version = await raiseVersion(manager, null);
      await recordChanges(
        manager,
        made.map(({ after, ...each }) => ({ merchantId: null, ...each, after: after && { ...after, version: before + 1 }, version })),
      );
    });
  }
}

async function versionOf(manager: EntityManager, name: SwitchName): Promise<number> {
  return (await manager.findOneBy(SwitchVersionEntity, { name }))?.version ?? 1;
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
