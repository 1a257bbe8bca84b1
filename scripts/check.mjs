/** npm run check: everything that must hold before a change is taken in, except the tests. */
import { spawnSync } from 'node:child_process';
import { installMissing, demandNode } from './install.mjs';
import { ROOT } from './paths.mjs';
import { actionlint } from './check/actionlint.mjs';
import { buf } from './check/buf.mjs';
import { kubeconform } from './check/kubeconform.mjs';
import { luacheck, ruff } from './check/other-languages.mjs';
import { descriptorsOfProtos, pythonOfProtos } from './check/protobuf.mjs';
import { model } from './model.mjs';

/** @typedef {{ ok: boolean } | { skipped: string }} Outcome */

/**
 * @param {string} program one of node_modules/.bin
 * @param {string[]} args
 * @returns {() => Outcome}
 */
const tool =
  (program, ...args) =>
  () => ({ ok: spawnSync(program, args, { cwd: ROOT, stdio: 'inherit', env: withTools() }).status === 0 });

const withTools = () => ({ ...process.env, PATH: `${ROOT}/node_modules/.bin:${process.env['PATH']}` });

/** @type {[name: string, run: () => Outcome | Promise<Outcome>][]} */
const CHECKS = [
  ['format', tool('prettier', '--check', '--log-level', 'warn', '.')],
  ['lint', tool('eslint', '--quiet', '.')],
  ['types of apps, libraries and tests', tool('tsc', '--noEmit')],
  ['types of scripts and benchmarks', tool('tsc', '--noEmit', '-p', 'scripts')],
  ['who imports whom, and cycles', tool('depcruise', 'apps', 'libs', 'migrations')],
  ['Python', ruff],
  ['Lua', luacheck],
  ['Kubernetes manifests', kubeconform],
  ['GitHub workflows', actionlint],
  ['protobuf files', buf],
  ['Python of protobuf files', pythonOfProtos],
  ['what server reflection tells of them', descriptorsOfProtos],
  ['the model of leases', model],
];

demandNode();
await installMissing(console.log);

const lines = [];
for (const [name, run] of CHECKS) {
  console.log(`\n== ${name}`);
  const startedMs = performance.now();
  const outcome = await run();
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  if ('skipped' in outcome) {
    console.warn(`SKIPPED: ${outcome.skipped}`);
    lines.push(`  SKIPPED  ${name}: ${outcome.skipped}`);
  } else {
    if (!outcome.ok) process.exitCode = 1;
    lines.push(`  ${outcome.ok ? 'ok     ' : 'FAILED '}  ${name} (${seconds} s)`);
  }
}
console.log(`\n${lines.join('\n')}`);
