import { RulesApi } from '../api/rules-api.js';
import { provide } from '../demo/seed.js';
import { notStarted } from '../shared/command-error.js';
import { print } from '../shared/output.js';
import { SMOOTH_MERCHANT, type LoadOptions } from './options.js';

/** Twenty requests at once take two seconds to leave its queue. */
const SMOOTH = {
  merchant: { id: SMOOTH_MERCHANT, name: 'Smooth', timeZone: 'Etc/UTC' },
  rule: {
    name: 'evenly',
    limits: [
      {
        name: 'queue',
        algorithm: 'leaky_bucket',
        capacity: 40,
        drainTokens: 10,
        drainIntervalMs: 1000,
        onLimit: { delay: { maxWaitMs: 5000 } },
      },
    ],
    onStoreFailure: 'closed',
  },
};

/** Creates the merchant of the profile `smooth`, unless it is there. */
export async function provideSmoothMerchant({ rulesApi, token }: Pick<LoadOptions, 'rulesApi' | 'token'>): Promise<void> {
  try {
    const { isNew } = await provide(new RulesApi({ url: rulesApi, token }), SMOOTH);
    if (isNew) print(`Created the merchant ${SMOOTH_MERCHANT}, whose requests leave a leaky bucket one by one.`);
  } catch (error) {
    throw notStarted(`The merchant ${SMOOTH_MERCHANT} could not be written: ${(error as Error).message}`);
  }
}
