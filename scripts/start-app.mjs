/** npm run start:gateway, start:decision-api, start:rules-api, start:preloader: one app alone, from a fresh clone too. */
import { BAD_CONFIGURATION } from './command-line.mjs';
import { BUNDLED, bundleOf } from './paths.mjs';
import { provide } from './provide.mjs';

const app = process.argv[2] ?? '';
if (!BUNDLED.includes(app)) {
  console.error(`There is no app "${app}". There are ${BUNDLED.join(', ')}.`);
  process.exit(BAD_CONFIGURATION);
}
await provide(bundleOf(app)).catch((error) => {
  console.error(error.message);
  process.exit(1);
});
process.setSourceMapsEnabled(true);
await import(bundleOf(app));
