/** The linters that npm does not bring: Ruff for Python, luacheck for Lua. Where they cannot be had, their check is skipped, and says so. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { build, importBuilt } from '../build.mjs';
import { ROOT } from '../paths.mjs';
import { obtainLuacheck } from '../services/fetch-linters.mjs';
import { obtainPython } from '../services/python.mjs';

/** @typedef {import('../check.mjs').Outcome} Outcome */

const RUFF = { title: 'Ruff 0.17.6', name: 'ruff', requirements: '--only-binary :all:\nruff==0.17.6\n' };
const LUA = join(ROOT, 'libs', 'limiter-redis', 'lua');

/** @returns {Promise<Outcome>} */
export async function ruff() {
  const python = await obtainPython(RUFF);
  if ('missing' in python) return { skipped: python.missing };
  const ok = [['check'], ['format', '--check']].map((args) => succeeds(join(python.bin, 'ruff'), [...args, 'locust', 'fuzz']));
  return { ok: ok.every(Boolean) };
}

/** Scripts are linted as Redis gets them, with everything that they include: only then is a variable that nobody defines one. @returns {Promise<Outcome>} */
export async function luacheck() {
  const command = obtainLuacheck();
  if (!command)
    return {
      skipped:
        'luacheck is not on PATH and could not be fetched. On Debian or Ubuntu: apt install lua-check. On macOS: brew install luacheck',
    };
  await build();
  const { sourceOf } = await importBuilt('libs/limiter-redis/src/scripts.js');
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-lua-'));
  try {
    for (const name of scriptNames()) writeFileSync(join(folder, name), sourceOf(name));
    return { ok: succeeds(command.program, [...command.args, '--no-color', '--config', join(ROOT, '.luacheckrc'), folder], command.env) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The files of the folder that no other includes. Those in folders below are parts of them. */
function scriptNames() {
  const files = readdirSync(LUA).filter((file) => file.endsWith('.lua'));
  const text = files.map((file) => readFileSync(join(LUA, file), 'utf8')).join('\n');
  const included = new Set([...text.matchAll(/--# include (\S+)/g)].map(([, name = '']) => basename(name)));
  return files.filter((file) => !included.has(file));
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 */
const succeeds = (program, args, env) => spawnSync(program, args, { cwd: ROOT, stdio: 'inherit', env }).status === 0;
