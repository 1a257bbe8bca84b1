import { slotOf } from './cluster-slot.js';
import { isCluster, type RedisConnection } from './redis-connection.js';

/** What goes into one script call: everything, or in a cluster what lies in one slot. No call is empty. */
export function bySlot<T>(redis: RedisConnection, items: readonly T[], keyOf: (item: T) => string): (readonly T[])[] {
  if (!isCluster(redis)) return items.length === 0 ? [] : [items];
  const slots = new Map<number, T[]>();
  for (const item of items) {
    const slot = slotOf(keyOf(item));
    const others = slots.get(slot);
    if (others === undefined) slots.set(slot, [item]);
    else others.push(item);
  }
  return [...slots.values()];
}
