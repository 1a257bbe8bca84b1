import { SWITCH_NAMES } from '#limiter';
import { gauge, gaugeBy, type Together } from '#metrics';
import type { Registry } from 'prom-client';
import type { Dependencies } from '../dependencies.js';

/** What Prometheus can see of the state of an enforcer. */
export function registerGauges(registry: Registry, { changes, gateways, rules, spareCapacity, store }: Dependencies): void {
  gateways.register(registry);
  const gauges: readonly (readonly [name: string, help: string, read: () => number, together?: Together])[] = [
    ['tollgate_store_available', '1 while Redis carries out takes in time.', () => (store.available ? 1 : 0), 'min'],
    [
      'tollgate_store_clock_offset_seconds',
      'By how much the clock of Redis is ahead of the one of this gateway, by its last answer.',
      () => store.clockOffsetMs / 1000,
      'max',
    ],
    [
      'tollgate_rules_age_seconds',
      'Since the change counters of Redis were compared last: no rule in this process is older than that.',
      () => changes.ageMs / 1000,
      'max',
    ],
    [
      'tollgate_spare_capacity',
      'Requests that this gateway may still pass above elastic limits before the next measurement.',
      () => spareCapacity.left,
    ],
    ['tollgate_cached_merchants', 'Merchants whose rules are in this process.', () => rules.size],
    ['tollgate_cached_unknown_merchants', 'Ids in this process that nobody created.', () => rules.unknownSize],
    ['tollgate_cached_plans', 'Plans whose rules are in this process.', () => rules.planSize],
    ['tollgate_rule_cache_bytes', 'Memory that the rules in this process take, by estimate.', () => rules.bytes],
  ];
  gaugeBy(
    registry,
    'tollgate_switches',
    'Switches that are on, by name: kill limits nobody, shadow refuses nobody.',
    ['switch'],
    () => SWITCH_NAMES.map((name) => [[name], rules.switches.filter((each) => each.name === name).length] as const),
    'max',
  );
  for (const [name, help, read, together] of gauges) gauge(registry, name, help, read, together);
}
