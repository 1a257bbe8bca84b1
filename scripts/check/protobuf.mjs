/** The published protobuf files, read by the tools that everybody has: code for Python is generated from them. Where these cannot be had, the check is skipped, and says so. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, TOOLS } from '../paths.mjs';
import { findProgram } from '../processes.mjs';

/** @typedef {import('../check.mjs').Outcome} Outcome */

const VERSION = '1.85.1';
const VENV = join(TOOLS, `grpcio-tools-${VERSION}`);
const PYTHON = join(VENV, 'bin', 'python');
/** Written last: what was interrupted is begun again. */
const INSTALLED = join(VENV, 'installed');
const INSTALL_MS = 180_000;
const PROTOS = join(ROOT, 'proto');

/** @returns {Outcome} */
export function pythonOfProtos() {
  if (!install()) return { skipped: `grpcio-tools ${VERSION} could not be installed: that takes python3 with venv, and the network` };
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-protos-'));
  try {
    return { ok: generatePython(folder) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The Python that has the tools; undefined until the check has installed them. */
export function pythonWithGrpc() {
  return existsSync(INSTALLED) ? PYTHON : undefined;
}

/**
 * Writes the code of all services. Only where there is the Python.
 *
 * @param {string} folder
 */
export function generatePython(folder) {
  const out = [`--python_out=${folder}`, `--grpc_python_out=${folder}`];
  return succeeds(PYTHON, ['-m', 'grpc_tools.protoc', '-I', PROTOS, ...out, ...protoFiles()]);
}

function install() {
  if (pythonWithGrpc() !== undefined) return true;
  const python = findProgram(['python3']);
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--disable-pip-version-check', '--only-binary', ':all:'];
  const packages = [`grpcio==${VERSION}`, `grpcio-tools==${VERSION}`];
  if (!python || !succeeds(python, ['-m', 'venv', VENV]) || !succeeds(PYTHON, [...pip, ...packages])) return false;
  writeFileSync(INSTALLED, '');
  return true;
}

/** @returns {string[]} */
function protoFiles() {
  return readdirSync(PROTOS, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.proto'));
}

/**
 * @param {string} program
 * @param {string[]} args
 */
const succeeds = (program, args) => spawnSync(program, args, { cwd: ROOT, stdio: 'inherit', timeout: INSTALL_MS }).status === 0;
