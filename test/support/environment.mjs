/** The environment of the end-to-end tests: that of Node, and what their worker keeps from one file to the next. */
import { TestEnvironment } from 'jest-environment-node';
import { keptRulesApi } from './kept-rules-api.mjs';

export default class KeepingEnvironment extends TestEnvironment {
  /** @override */
  async setup() {
    await super.setup();
    Object.assign(this.global, { tollgateKeptRulesApi: keptRulesApi });
  }
}
