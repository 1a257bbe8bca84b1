/** The published protobuf files, read by the tools that everybody has: code for Python is generated from them. Where these cannot be had, the check is skipped, and says so. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../paths.mjs';
import { installedPython, obtainPython } from '../services/python.mjs';

/** @typedef {import('../check.mjs').Outcome} Outcome */

/** grpcio-tools, and all that it needs. */
const GRPC_TOOLS = {
  title: 'grpcio-tools 1.85.1',
  name: 'grpcio-tools',
  oldest: /** @type {const} */ ([3, 10]),
  requirements: `--only-binary :all:
grpcio-tools==1.85.1
grpcio==1.85.1
protobuf==7.36.2
setuptools==84.2.1
typing_extensions==4.16.0
`,
};
const GENERATE_WITHIN_MS = 180_000;
const PROTOS = join(ROOT, 'proto');
/** The health protocol, which is answered beside our files. */
const HEALTH = join(ROOT, 'node_modules', 'grpc-health-check', 'proto');
/** What server reflection tells of all of them. */
const DESCRIPTORS = join(PROTOS, 'descriptors.binpb');

/** @returns {Promise<Outcome>} */
export async function pythonOfProtos() {
  const python = await obtainPython(GRPC_TOOLS);
  if ('missing' in python) return { skipped: python.missing };
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-protos-'));
  try {
    return { ok: generatePython(join(python.bin, 'python'), folder) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes what server reflection tells. @returns {Promise<Outcome>} */
export async function writeDescriptors() {
  const python = await obtainPython(GRPC_TOOLS);
  return 'missing' in python ? { skipped: python.missing } : { ok: describeProtos(join(python.bin, 'python'), DESCRIPTORS) };
}

/** Whether server reflection tells what the files say. @returns {Promise<Outcome>} */
export async function descriptorsOfProtos() {
  const python = await obtainPython(GRPC_TOOLS);
  if ('missing' in python) return { skipped: python.missing };
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-protos-'));
  try {
    const file = join(folder, 'descriptors.binpb');
    const ok = describeProtos(join(python.bin, 'python'), file) && readFileSync(file).equals(readFileSync(DESCRIPTORS));
    if (!ok) console.error('proto/descriptors.binpb is not what the files say: npm run descriptors');
    return { ok };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} python that has the tools @param {string} file a google.protobuf.FileDescriptorSet, whose files stand behind those that they import */
function describeProtos(python, file) {
  const args = ['-I', PROTOS, '-I', HEALTH, '--include_imports', `--descriptor_set_out=${file}`, ...protoFiles(), 'health/v1/health.proto'];
  return spawnSync(python, ['-m', 'grpc_tools.protoc', ...args], { cwd: ROOT, stdio: 'inherit', timeout: GENERATE_WITHIN_MS }).status === 0;
}

/** The Python that has the tools; undefined until the check has installed them. */
export function pythonWithGrpc() {
  const bin = installedPython(GRPC_TOOLS);
  return bin === undefined ? undefined : join(bin, 'python');
}

/**
 * Writes the code of all services.
 *
 * @param {string} python that has the tools
 * @param {string} folder
 */
export function generatePython(python, folder) {
  const out = [`--python_out=${folder}`, `--grpc_python_out=${folder}`];
  const args = ['-m', 'grpc_tools.protoc', '-I', PROTOS, ...out, ...protoFiles()];
  return spawnSync(python, args, { cwd: ROOT, stdio: 'inherit', timeout: GENERATE_WITHIN_MS }).status === 0;
}

/** @returns {string[]} */
function protoFiles() {
  return readdirSync(PROTOS, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.proto'))
    .sort();
}
