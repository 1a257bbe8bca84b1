/** Where things lie in the checkout. */
import { realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the checkout, absolute. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** The compiled code. */
export const DIST = resolve(ROOT, 'dist');

/** Nest's command line, a script for node. */
export const NEST = resolve(ROOT, 'node_modules', '@nestjs', 'cli', 'bin', 'nest.js');

/** The compiled entry point of an app. @param {string} app */
export const mainOf = (app) => resolve(DIST, 'apps', app, 'src', 'main.js');

/** The apps that are also built into one file each, which starts faster. */
export const BUNDLED = ['rules-api', 'preloader', 'gateway', 'decision-api'];

/** That file. @param {string} app */
export const bundleOf = (app) => resolve(DIST, `${app}.js`);

/**
 * The directory that holds the state of `npm start`: TOLLGATE_DATA_DIR, relative to the checkout, `.tollgate` by default.
 * @param {NodeJS.ProcessEnv} [env]
 */
export const dataDirOf = (env = process.env) => resolve(ROOT, env['TOLLGATE_DATA_DIR'] || '.tollgate');

/** Programs that were fetched for this checkout, such as a redis-server. Never removed by --fresh. */
export const TOOLS = resolve(ROOT, '.tollgate', 'tools');

/**
 * Whether a script was called by its name, rather than imported.
 * @param {string} url its import.meta.url
 */
export const isMain = (url) => process.argv[1] !== undefined && fileURLToPath(url) === realpathSync(process.argv[1]);
