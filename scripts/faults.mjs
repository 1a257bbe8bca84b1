/** npm run faults: makes everything ill that a gateway stands on, under load, and prints what merchants saw. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './paths.mjs';

const HELP = `npm run faults [-- --seconds N] [--only TEXT] [--publish]

Two gateways under a steady load of 200 requests a second, from four merchants; Redis, PostgreSQL, the upstream and the gateways are
broken and mended one after the other. Prints a table of what the merchants saw: a merchant of each onStoreFailure, and one
("limited") that asks for twice its limit. Fails if an answer was wrong, more was admitted than the limit allows, or something
took longer to heal than docs/operations.md says. Uses loopback only, starts its own servers and ends them; takes two minutes.
Let nothing else run meanwhile: the deadlines are the usual ones, 25 ms for a take.

  --seconds N   how long each fault lasts, 1 to 60; 3 by default
  --only TEXT   only the faults whose names contain this
  --publish     puts the table into docs/operations.md; only for a whole run
  --help        this text`;

const HEAD = `| Fault | open | local | closed | limited | admitted of what is allowed | slowest answer | healed after |
|---|---|---|---|---|---|---|---|`;

const DOCUMENT = join(ROOT, 'docs', 'operations.md');
const BEGIN = '<!-- faults: begin -->';
const END = '<!-- faults: end -->';

/** @param {string[]} args */
function parse(args) {
  const settings = { seconds: 3, only: '', publish: false, help: false };
  for (let i = 0; i < args.length; i++) {
    const [option, inline] = (args[i] ?? '').split('=', 2);
    const value = () => inline ?? args[++i] ?? '';
    if (option === '--help' || option === '-h') settings.help = true;
    else if (option === '--publish') settings.publish = true;
    else if (option === '--only') settings.only = value();
    else if (option === '--seconds') settings.seconds = Number(value());
    else throw new Error(`npm run faults does not know ${args[i]}; see npm run faults -- --help`);
  }
  if (!Number.isInteger(settings.seconds) || settings.seconds < 1 || settings.seconds > 60) throw new Error('--seconds has to be a whole number from 1 to 60');
  if (settings.publish && settings.only) throw new Error('--publish is only for a whole run');
  return settings;
}

/**
 * @param {{ seconds: number, only: string, publish: boolean }} settings
 * @returns {Promise<number>} the exit code
 */
async function run({ seconds, only, publish }) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-faults-'));
  const file = join(folder, 'rows.md');
  try {
    const args = ['test/faults', '--selectProjects', 'alone', '--verbose', ...(only ? ['--testNamePattern', only.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')] : [])];
    const child = spawn(process.execPath, [join(ROOT, 'scripts', 'test.mjs'), ...args], {
      stdio: 'inherit', env: { ...process.env, TOLLGATE_FAULT_SECONDS: String(seconds), TOLLGATE_FAULT_TABLE: file },
    });
    for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.once(signal, () => child.kill(signal));
    const code = await new Promise((resolve) => child.once('close', (status) => resolve(status ?? 1)));
    if (!existsSync(file)) return code || 1;
    const table = `${HEAD}\n${readFileSync(file, 'utf8').trim()}`;
    console.log(`\n${table}`);
    if (publish && code === 0) writeFileSync(DOCUMENT, published(readFileSync(DOCUMENT, 'utf8'), table));
    if (publish) console.log(code === 0 ? `\nwritten to ${DOCUMENT}` : '\nnot published, because something was not as it should be');
    return code;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {string} text
 * @param {string} table
 */
function published(text, table) {
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${DOCUMENT} has no place for the table: ${BEGIN} ... ${END}`);
  return `${text.slice(0, begin + BEGIN.length)}\n${table}\n${text.slice(end)}`;
}

try {
  const settings = parse(process.argv.slice(2));
  if (settings.help) console.log(HELP);
  else process.exitCode = await run(settings);
} catch (error) {
  console.error(/** @type {Error} */ (error).message);
  process.exitCode = 1;
}
