/** Services in Go that Tollgate is compared with: built on demand from pinned modules, checked against the checksum database, and kept beside the other tools. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { ROOT, TOOLS } from '../../scripts/paths.mjs';
import { findProgram } from '../../scripts/processes.mjs';

const BUILD_TIMEOUT_MS = 1_800_000;
const FOLDER = join(TOOLS, 'go-peers');

/**
 * @typedef {object} GoPeer
 * @property {string} module
 * @property {string} version
 * @property {string} [sum] of a module that the checksum database does not know, as `go mod download -json` names it
 * @property {string} command folder of what is built
 * @property {string} [main] a file of bench/peers in place of that command's
 */

/** @typedef {'ratelimit' | 'gubernator' | 'traefik'} GoPeerName */

/** @type {Record<GoPeerName, GoPeer>} */
export const GO_PEERS = {
  ratelimit: {
    module: 'github.com/envoyproxy/ratelimit',
    version: 'v1.4.1-0.20260122083618-3fb702589d36',
    command: 'src/service_cmd',
  },
  // Its last version under this path: of those under the later one the module proxy has no checksums.
  gubernator: { module: 'github.com/mailgun/gubernator/v2', version: 'v2.4.0', command: 'cmd/gubernator', main: 'gubernator.go' },
  // What the module proxy has of 3.7 lacks a folder that its go.mod replaces a module by.
  traefik: {
    module: 'github.com/traefik/traefik/v3',
    version: 'v3.6.25',
    sum: 'h1:M1ME6Mpd83amqd3yWCciyw709/ZbJT8uZQblolnwr7I=',
    command: 'cmd/traefik',
  },
};

/**
 * The program of a peer, built unless that was done before.
 * @param {GoPeerName} name
 * @param {(line: string) => void} say
 * @returns {{ program: string } | { missing: string }} `missing` says why there is none
 */
export function obtainGoPeer(name, say) {
  const { module, version, sum, command, main } = GO_PEERS[name];
  const ours = main === undefined ? undefined : join(ROOT, 'bench', 'peers', main);
  const mark = ours === undefined ? '' : `-${createHash('sha256').update(readFileSync(ours)).digest('hex').slice(0, 8)}`;
  const program = join(FOLDER, `${name}-${version}${mark}`);
  if (existsSync(program)) return { program };
  const go = findProgram(['go']);
  if (go === undefined) return { missing: 'there is no go on PATH to build it with' };
  say(`building ${module}@${version}, which can take minutes ...`);
  mkdirSync(FOLDER, { recursive: true });
  const env = { ...process.env, GOPATH: join(FOLDER, 'go'), GOFLAGS: '-buildvcs=false -modcacherw', ...(sum && { GONOSUMDB: module }) };
  const downloaded = spawnSync(go, ['mod', 'download', '-json', `${module}@${version}`], {
    cwd: FOLDER,
    env,
    encoding: 'utf8',
    timeout: BUILD_TIMEOUT_MS,
  });
  const { Dir: folder, Sum: found, Error: failure } = parsed(downloaded.stdout);
  if (folder === undefined) return { missing: failure ?? 'go could not fetch it' };
  if (sum !== undefined && found !== sum) return { missing: `${module}@${version} has the checksum ${found}, not ${sum}` };
  // Not quite there is not there.
  const half = `${program}.half`;
  const place = `${program}.source`;
  cpSync(folder, place, { recursive: true });
  if (ours !== undefined) copyFileSync(ours, join(place, command, 'main.go'));
  const built = spawnSync(go, ['build', '-trimpath', '-o', half, `./${command}`], {
    cwd: place,
    env,
    encoding: 'utf8',
    timeout: BUILD_TIMEOUT_MS,
  });
  rmSync(place, { recursive: true, force: true });
  if (built.status !== 0) return { missing: `go could not build it: ${(built.stderr ?? '').trim().split('\n').at(-1)}` };
  renameSync(half, program);
  return { program };
}

/** @param {string} json @returns {{ Dir?: string, Sum?: string, Error?: string }} */
function parsed(json) {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}
