import type { ValueTransformer } from 'typeorm';
import { CONSISTENCY, type Consistency, type StoreFailurePolicy } from '#limiter';

/** What stands in the column of consistencies: nothing for what holds anyway. */
export function consistencyText(consistency: Consistency): string | null {
  return consistency === CONSISTENCY.default ? null : consistency;
}

export const consistencyColumn: ValueTransformer = {
  to: (consistency: Consistency | undefined) => consistency && consistencyText(consistency),
  from: (text: string | null) => text ?? CONSISTENCY.default,
};

/** What stands in the column of policies, which readers of before know: for a gateway that has been lent nothing, `leased` is `closed`. */
export function storeFailureText(policy: StoreFailurePolicy): string {
  return policy === 'leased' ? 'closed' : policy;
}

/** What stands beside it. */
export function storeFailureLeased(policy: StoreFailurePolicy): true | null {
  return policy === 'leased' ? true : null;
}

export const storeFailureColumn: ValueTransformer = {
  to: (policy: StoreFailurePolicy | undefined) => policy && storeFailureText(policy),
  from: (text: unknown) => text,
};
