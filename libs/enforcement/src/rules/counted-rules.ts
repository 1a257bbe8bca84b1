import { MerchantRules } from '#limiter';
import type { UsageKeeper } from '../reports/usage-counters.js';

/** The rules of a merchant, which every decision about it has at hand, and where its requests are counted until the next flush. */
export class CountedRules extends MerchantRules implements UsageKeeper {
  usage: object | undefined = undefined;
}
