import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isCluster, type RedisConnection } from './connection/redis-connection.js';
import { algorithmsInLua } from '../lua/algorithms/index.js';
import { packArguments, PackedCall, type PackedArguments } from './connection/packed-command.js';
import { wireInLua } from './buckets/wire.js';

const LUA = new URL('../lua/', import.meta.url);

/** What a script includes that is no file, because TypeScript knows it as well. */
const RENDERED: Readonly<Record<string, () => string>> = { wire: wireInLua, algorithms: algorithmsInLua };

/** The text of a script, with what it includes by `--# include <file>`, each on a line of its own. */
export function sourceOf(file: string): string {
  const text = RENDERED[file]?.() ?? readFileSync(new URL(file, LUA), 'utf8');
  return text.replace(/^ *--# include (.+)$/gm, (_line, included: string) => sourceOf(included));
}

type ScriptName =
  | 'take'
  | 'refund'
  | 'settle-claim'
  | 'operate'
  | 'lend'
  | 'read-texts'
  | 'report-load'
  | 'write-snapshots'
  | 'mend-snapshot'
  | 'preload-buckets'
  | 'add-usage'
  | 'add-top-keys'
  | 'add-receipts'
  | 'add-limit-events';

/** Sends the scripts of a gateway in advance, so that none of its first calls has to be made twice. */
export async function loadScripts(redis: RedisConnection): Promise<void> {
  const names: ScriptName[] = ['take', 'lend', 'refund', 'read-texts', 'report-load'];
  const servers = isCluster(redis) ? redis.nodes('master') : [redis];
  await Promise.all(servers.flatMap((server) => names.map((name) => server.script('LOAD', sourceOf(`${name}.lua`)))));
}

/** A Lua script of this library, called by its hash; sent in full only to a server that does not know it. */
export class Script {
  private readonly source: string;
  private readonly sha1: string;

  constructor(name: ScriptName) {
    this.source = sourceOf(`${name}.lua`);
    this.sha1 = createHash('sha1').update(this.source).digest('hex');
  }

  run(redis: RedisConnection, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.runPacked(redis, () => packArguments(keys, args));
  }

  /** @param pack called at once, and again if the server does not know the script */
  async runPacked(redis: RedisConnection, pack: () => PackedArguments): Promise<unknown> {
    try {
      return await redis.sendCommand(new PackedCall('evalsha', this.sha1, pack()));
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      // Whoever does not know the script has not run it: sending it in full cannot take twice.
      return redis.sendCommand(new PackedCall('eval', this.source, pack()));
    }
  }
}
