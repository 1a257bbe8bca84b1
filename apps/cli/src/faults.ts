import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { literally } from '#scripts/command-line.mjs';
import { writeBetween } from '#scripts/marked-text.mjs';
import { ROOT } from '#scripts/paths.mjs';
import { afterHelp, newCommand } from './shared/command.js';
import { Faults, wholeNumber } from './shared/options.js';
import { print } from './shared/output.js';

/** Published with the table, so that both are of one run. */
const WHO = `250 requests a second came from five merchants: one for each of \`open\`, \`closed\` and \`local\`, and two that ask for twice what their limit allows: \`limited\`, whose every take is Redis's, is \`closed\`, and \`leased\`, whose gateways take tokens in advance, is \`leased\`.`;

const HEAD = `| Fault | open | closed | local | limited | leased | wrong answers | admitted of what is allowed | added p99 | slowest answer | healed after |
|---|---|---|---|---|---|---|---|---|---|---|`;

const DOCUMENT = join(ROOT, 'docs', 'operations.md');
const MARKS = /(<!-- faults: begin -->\n)[^]*(<!-- faults: end -->)/;

const ABOUT = [
  `Two gateways carry a steady load of 250 requests a second from five merchants, while Redis, PostgreSQL, the upstream and the gateways
are broken and mended one after the other. A table shows what the merchants saw: one merchant of each onStoreFailure, and two that
ask for twice their limit ("limited", exactly counted; and "leased"). The command fails if an answer was wrong or does not fit the log
of the upstream, more was admitted than the limit allows, or something took longer to heal than its row in test/faults says.`,
  `It uses loopback only, starts its own servers and stops them, and takes eight minutes, two of them without PostgreSQL. Run nothing
else meanwhile: the deadlines are the usual ones, 25 ms for a take. What a machine has not got (prlimit, libfaketime) is left out.`,
];

export function command() {
  const faults = new Faults();
  return newCommand('faults', 'Breaks everything that a gateway stands on, under load, and prints what merchants saw.')
    .addOption(wholeNumber('--seconds <n>', 'how long each fault lasts', { min: 1, max: 60, default: 3 }, faults))
    .option('--only <text>', 'only the faults whose names contain this text')
    .option('--publish', 'write the table into docs/operations.md; only for a whole run')
    .addHelpText('after', afterHelp(ABOUT, ['npx tollgate faults --only "Redis"', 'npx tollgate faults --seconds 10 --publish']))
    .action(async ({ seconds, only, publish = false }) => {
      if (publish && only) faults.add('--publish is only for a whole run.');
      faults.demandNone();
      process.exitCode = await runFaults(seconds, only, publish);
    });
}

/** The exit code of the tests that break things. */
async function runFaults(seconds: number, only: string | undefined, publish: boolean): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-faults-'));
  const file = join(folder, 'rows.md');
  try {
    const args = ['test/faults', '--selectProjects', 'faults', '--verbose', ...(only ? ['--testNamePattern', literally(only)] : [])];
    const child = spawn(process.execPath, [join(ROOT, 'scripts', 'test.mjs'), ...args], {
      stdio: 'inherit',
      env: { ...process.env, TOLLGATE_FAULT_SECONDS: String(seconds), TOLLGATE_FAULT_TABLE: file },
    });
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => child.kill(signal));
    const code = await new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? 1)));
    if (!existsSync(file)) return code || 1;
    const table = `${HEAD}\n${readFileSync(file, 'utf8').trim()}`;
    print(`\n${table}`);
    if (publish && code === 0) writeBetween(DOCUMENT, MARKS, `${WHO}\n\n${table}`);
    if (publish) print(code === 0 ? `\nwritten to ${DOCUMENT}` : '\nnot published, because something was not as it should be');
    return code;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
