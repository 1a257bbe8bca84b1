/** A service in Rust that Tollgate is compared with: built on demand from crates.io by the checksums of its own lock file, and kept beside the other tools. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TOOLS } from '../../scripts/paths.mjs';
import { findProgram } from '../../scripts/processes.mjs';
import { obtainPythonWithGrpc } from '../../scripts/check/protobuf.mjs';

const BUILD_TIMEOUT_MS = 1_200_000;
const FOLDER = join(TOOLS, 'cargo-peers');

export const THROTTLECRAB = { crate: 'throttlecrab-server', version: '0.4.40' };

/**
 * The program, built unless that was done before.
 * @param {(line: string) => void} say
 * @returns {Promise<{ program: string } | { missing: string }>} `missing` says why there is none
 */
export async function obtainThrottlecrab(say) {
  const { crate, version } = THROTTLECRAB;
  const place = join(FOLDER, `${crate}-${version}`);
  const program = join(place, 'bin', crate);
  if (existsSync(program)) return { program };
  const cargo = findProgram(['cargo']);
  if (cargo === undefined) return { missing: 'there is no cargo on PATH to build it with' };
  mkdirSync(FOLDER, { recursive: true });
  const protoc = await obtainProtoc();
  if ('missing' in protoc) return protoc;
  say(`building ${crate} ${version}, which can take minutes ...`);
  // Not quite there is not there.
  const half = `${place}.half`;
  rmSync(half, { recursive: true, force: true });
  const built = spawnSync(cargo, ['install', crate, '--version', version, '--locked', '--quiet', '--root', half], {
    cwd: FOLDER,
    env: { ...process.env, CARGO_HOME: join(FOLDER, 'home'), PROTOC: protoc.program },
    encoding: 'utf8',
    timeout: BUILD_TIMEOUT_MS,
  });
  if (built.status !== 0) return { missing: `cargo could not build it: ${(built.stderr ?? '').trim().split('\n').at(-1)}` };
  renameSync(half, place);
  return { program };
}

/** Its messages are compiled when it is built. @returns {Promise<{ program: string } | { missing: string }>} */
async function obtainProtoc() {
  const found = findProgram(['protoc']);
  if (found !== undefined) return { program: found };
  const python = await obtainPythonWithGrpc();
  if ('missing' in python) return { missing: `there is no protoc to build it with: ${python.missing}` };
  const program = join(FOLDER, 'protoc');
  writeFileSync(program, `#!/bin/sh\nexec '${join(python.bin, 'python')}' -m grpc_tools.protoc "$@"\n`, { mode: 0o755 });
  return { program };
}
