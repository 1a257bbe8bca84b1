/** Schemathesis in a virtual environment of this checkout, made at the first use. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, TOOLS } from '../scripts/paths.mjs';
import { findProgram } from '../scripts/processes.mjs';

const REQUIREMENTS = join(ROOT, 'fuzz', 'requirements.txt');
const INSTALL_WITHIN_MS = 300_000;
const OLDEST_PYTHON = [3, 11];

/** @returns {{ program: string } | { missing: string }} */
export function obtainSchemathesis() {
  const wanted = createHash('sha256').update(readFileSync(REQUIREMENTS)).digest('hex');
  const venv = join(TOOLS, 'schemathesis');
  // Written when the installation is complete.
  const mark = join(venv, '.complete');
  const program = join(venv, 'bin', 'schemathesis');
  if (existsSync(program) && existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return { program };
  const python = findProgram(['python3']);
  if (!python || !isRecent(python)) return { missing: `that takes python3 of version ${OLDEST_PYTHON.join('.')} or later on PATH` };
  console.log('Installing Schemathesis for this checkout, once ...');
  rmSync(venv, { recursive: true, force: true });
  // Every version stands in the file, so there is nothing to resolve.
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--disable-pip-version-check', '--only-binary', ':all:', '--no-deps'];
  const made = succeeds(python, ['-m', 'venv', venv]) && succeeds(join(venv, 'bin', 'python'), [...pip, '--requirement', REQUIREMENTS]);
  if (!made) return { missing: 'Schemathesis could not be installed, which takes python3 with venv, and the network' };
  writeFileSync(mark, wanted);
  return { program };
}

/** @param {string} python */
function isRecent(python) {
  const { stdout } = spawnSync(python, ['--version'], { encoding: 'utf8' });
  const [, major = 0, minor = 0] = (/^Python (\d+)\.(\d+)/.exec(stdout ?? '') ?? []).map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_PYTHON;
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}

/** @param {string} program @param {string[]} args */
const succeeds = (program, args) => spawnSync(program, args, { cwd: ROOT, stdio: 'inherit', timeout: INSTALL_WITHIN_MS }).status === 0;
