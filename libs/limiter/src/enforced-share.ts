import { keyHead, keyParts } from './bucket-key.js';
import type { Descriptor } from './descriptor.js';
import type { Rule } from './rule.js';
import type { MODES } from './rule-mode.js';
import { textHash } from './text-hash.js';

/** What a rule does with one request. */
export type EffectiveMode = (typeof MODES)[number];

/** In which mode a rule is for a request. */
export function modeOf(rule: Pick<Rule, 'id' | 'key' | 'mode'>, descriptor: Descriptor): EffectiveMode {
  const { mode } = rule;
  if (typeof mode === 'string') return mode;
  return isInShare(rule, mode.enforcePercent, descriptor) ? 'enforce' : 'shadow';
}

/**
 * Whether a request belongs to the share of bucket keys for which a rule in the mode `{ enforcePercent }` is enforced. It is the same on every gateway and after
 * every restart; a share that grows keeps all that were in it. Each rule has a share of its own, so that not always the same merchants come first.
 */
function isInShare({ id, key }: Pick<Rule, 'id' | 'key'>, percent: number, descriptor: Descriptor): boolean {
  return textHash(keyHead({ id, key }, 'penalty', descriptor.merchantId) + keyParts(key, descriptor)) < (percent / 100) * 2 ** 32;
}
