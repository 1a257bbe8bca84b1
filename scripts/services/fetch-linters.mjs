/** Gets the linters that npm and pip do not bring, where this machine has none: from Debian's packages, or by the compiler of Go. Installs nothing outside our tools. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { TOOLS } from '../paths.mjs';
import { findProgram } from '../processes.mjs';
import { fetchFromDebian, librariesOf, missingLibraries } from './fetch-debian.mjs';

/** Above what Go takes to fetch and compile one on a slow machine. */
const COMPILE_TIMEOUT_MS = 300_000;

const FETCHED = join(TOOLS, 'usr', 'bin');

/** @typedef {{ program: string, args: string[], env: NodeJS.ProcessEnv }} Command `args` stand before those of the caller */

/**
 * The linter of Lua.
 * @returns {Command | undefined} undefined where none can be had
 */
export function obtainLuacheck() {
  return obtain(findLuacheck, '--version', () =>
    fetchFromDebian(['lua-check', 'lua-argparse', 'lua-filesystem', 'lua5.1', ...missingLibraries('lua5.1')]),
  );
}

/** Unpacked, it is a script of Lua that has to be told where its modules are. @returns {Command | undefined} */
function findLuacheck() {
  const program = findProgram(['luacheck']);
  if (program) return { program, args: [], env: process.env };
  const [lua, script] = ['lua5.1', 'luacheck'].map((name) => findProgram([name], [FETCHED]));
  if (!lua || !script) return undefined;
  const scripts = join(TOOLS, 'usr', 'share', 'lua', '5.1');
  const libraries = join(TOOLS, 'usr', 'lib');
  const compiled = readdirSync(libraries).map((machine) => join(libraries, machine, 'lua', '5.1', '?.so'));
  const paths = {
    LUA_PATH: [join(scripts, '?.lua'), join(scripts, '?', 'init.lua'), ';'].join(';'),
    LUA_CPATH: [...compiled, ';'].join(';'),
  };
  return { program: lua, args: [script], env: { ...process.env, ...librariesOf(lua), ...paths } };
}

/**
 * What checks and tests the alerts of Prometheus.
 * @returns {Command | undefined} undefined where none can be had
 */
export function obtainPromtool() {
  // The server beside it has as many megabytes again.
  return obtain(findIn('promtool', FETCHED), '--version', () => fetchFromDebian(['prometheus'], ['usr/bin/promtool']));
}

/**
 * A program that Go compiles, in a pinned version.
 * @param {string} name on PATH in any version
 * @param {string} module with its version, such as example.org/cmd/name@v1.2.3
 * @param {string} versionOption prints its version
 * @returns {Command | undefined} undefined where none can be had
 */
export function obtainFromGo(name, module, versionOption) {
  const folder = join(TOOLS, module.slice(module.lastIndexOf('/') + 1));
  return obtain(findIn(name, folder), versionOption, () => {
    const go = findProgram(['go']);
    if (go) spawnSync(go, ['install', module], { env: { ...process.env, GOBIN: folder }, stdio: 'inherit', timeout: COMPILE_TIMEOUT_MS });
  });
}

/**
 * @param {string} name
 * @param {string} folder besides PATH
 * @returns {() => Command | undefined}
 */
function findIn(name, folder) {
  return () => {
    const program = findProgram([name], [folder]);
    return program ? { program, args: [], env: { ...process.env, ...librariesOf(program) } } : undefined;
  };
}

/**
 * What is there and runs, fetched if need be.
 * @param {() => Command | undefined} find
 * @param {string} versionOption
 * @param {() => void} fetch
 */
function obtain(find, versionOption, fetch) {
  const runs = () => {
    const found = find();
    return found && spawnSync(found.program, [...found.args, versionOption], { env: found.env }).status === 0 ? found : undefined;
  };
  const present = runs();
  if (present) return present;
  fetch();
  return runs();
}
