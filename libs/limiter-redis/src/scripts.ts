import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isCluster, type RedisConnection } from './connection/redis-connection.js';
import { algorithmsInLua } from '../lua/algorithms/index.js';
import { type CallLimit, packArguments, PackedCall, type PackedArguments } from './connection/packed-command.js';
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
  runPacked(redis: RedisConnection, pack: () => PackedArguments): Promise<unknown> {
    return new Promise((resolve, reject) => this.callPacked(redis, pack, 'of connection', resolve, reject));
  }

  /**
   * The same for calls that are made very often: calls one of both back, once. What `runPacked` adds to each in promises and a timer costs more than the call is
   * packed in.
   *
   * @param limit `of caller`: whoever calls gives it up by itself when it is not answered
   */
  callPacked(
    redis: RedisConnection,
    pack: () => PackedArguments,
    limit: CallLimit,
    answered: (reply: unknown) => void,
    failed: (error: Error) => void,
  ): void {
    const send = (name: 'evalsha' | 'eval', script: string, onError: (error: Error) => void): void => {
      try {
        void (redis.sendCommand(new PackedCall(name, script, pack(), limit)) as Promise<unknown>).then(answered, onError);
      } catch (error) {
        failed(error as Error);
      }
    };
    // Whoever does not know the script has not run it: sending it in full cannot take twice.
    send('evalsha', this.sha1, (error) => (isUnknownScript(error) ? send('eval', this.source, failed) : failed(error)));
  }
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}
