/** npm run faults: makes everything ill that a gateway stands on, under load, and prints what merchants saw. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HELP_FLAG, literally, parsedArguments, Refusal, TEXT } from './command-line.mjs';
import { writeBetween } from './marked-text.mjs';
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
const MARKS = /(<!-- faults: begin -->\n)[^]*(<!-- faults: end -->)/;

const OPTIONS = { seconds: TEXT, only: TEXT, publish: { type: /** @type {const} */ ('boolean') }, help: HELP_FLAG };

/** @param {string[]} args */
function parse(args) {
  const { values, positionals } = parsedArguments(args, OPTIONS);
  const seconds = Number(values.seconds ?? 3);
  if (positionals.length > 0) throw new Refusal(`npm run faults does not know ${positionals[0]}; see npm run faults -- --help`);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > 60) throw new Refusal('--seconds has to be a whole number from 1 to 60');
  if (values.publish && values.only) throw new Refusal('--publish is only for a whole run');
  return { seconds, only: values.only ?? '', publish: values.publish ?? false, help: values.help ?? false };
}

/**
 * @param {{ seconds: number, only: string, publish: boolean }} settings
 * @returns {Promise<number>} the exit code
 */
async function run({ seconds, only, publish }) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-faults-'));
  const file = join(folder, 'rows.md');
  try {
    const args = ['test/faults', '--selectProjects', 'alone', '--verbose', ...(only ? ['--testNamePattern', literally(only)] : [])];
    const child = spawn(process.execPath, [join(ROOT, 'scripts', 'test.mjs'), ...args], {
      stdio: 'inherit',
      env: { ...process.env, TOLLGATE_FAULT_SECONDS: String(seconds), TOLLGATE_FAULT_TABLE: file },
    });
    for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.once(signal, () => child.kill(signal));
    const code = await new Promise((resolve) => child.once('close', (status) => resolve(status ?? 1)));
    if (!existsSync(file)) return code || 1;
    const table = `${HEAD}\n${readFileSync(file, 'utf8').trim()}`;
    console.log(`\n${table}`);
    if (publish && code === 0) writeBetween(DOCUMENT, MARKS, table);
    if (publish) console.log(code === 0 ? `\nwritten to ${DOCUMENT}` : '\nnot published, because something was not as it should be');
    return code;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

try {
  const settings = parse(process.argv.slice(2));
  if (settings.help) console.log(HELP);
  else process.exitCode = await run(settings);
} catch (error) {
  console.error(/** @type {Error} */ (error).message);
  process.exitCode = 1;
}
