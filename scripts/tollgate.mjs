/** npm run load, simulate, preload, faults: the command line of apps/cli, from a fresh clone too. */
import { mainOf } from './paths.mjs';
import { provide } from './provide.mjs';

await provide(mainOf('cli')).catch((error) => {
  console.error(error.message);
  process.exit(1);
});
await import(mainOf('cli'));
