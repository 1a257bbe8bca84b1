/** The environment of the end-to-end tests: that of all tests, and what their worker keeps from one file to the next. */
import ForgettingEnvironment from './environment.mjs';
import { keptRulesApi } from './kept-rules-api.mjs';

export default class KeepingEnvironment extends ForgettingEnvironment {
  /** @override */
  async setup() {
    await super.setup();
    Object.assign(this.global, { tollgateKeptRulesApi: keptRulesApi });
  }
}
