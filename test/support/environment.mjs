/**
 * The environment of all tests: that of Node, which leaves nothing in its worker that slows the files after it. Jest enters a new AsyncLocalStorage for each
 * file and never disables it. Before Node 24 every promise copies what each such storage holds: after a hundred files an await took 12 microseconds
 * instead of a tenth of one.
 */
import './compiled-once.mjs';
import { AsyncLocalStorage } from 'node:async_hooks';
import { TestEnvironment } from 'jest-environment-node';

/**
 * The storages that the file which runs now has entered: Jest's own, and those of packages.
 * @type {Set<AsyncLocalStorage<unknown>>}
 */
const entered = new Set();

const { run, enterWith } = AsyncLocalStorage.prototype;
Object.assign(AsyncLocalStorage.prototype, {
  /** @this {AsyncLocalStorage<unknown>} @param {Parameters<typeof run>} args */
  run(...args) {
    entered.add(this);
    return run.apply(this, args);
  },
  /** @this {AsyncLocalStorage<unknown>} @param {Parameters<typeof enterWith>} args */
  enterWith(...args) {
    entered.add(this);
    enterWith.apply(this, args);
  },
});

export default class ForgettingEnvironment extends TestEnvironment {
  /** @override */
  async teardown() {
    await super.teardown();
    for (const storage of entered) storage.disable();
    entered.clear();
  }
}
