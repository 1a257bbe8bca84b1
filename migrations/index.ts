import { Rules1795190400000 } from './1795190400000-rules.js';
import { ChangeLog1795190500000 } from './1795190500000-change-log.js';
import { Penalty1795305600000 } from './1795305600000-penalty.js';

/** Every migration, the oldest first. They are listed one by one, because a glob of `.ts` files finds none after the build. */
export const MIGRATIONS = [Rules1795190400000, ChangeLog1795190500000, Penalty1795305600000];
