import { Command } from 'ioredis';
import { ByteWriter } from './byte-writer.js';

/** Keys and arguments of a script call, as Redis wants them: `$<bytes>\r\n<text>\r\n` each. */
export interface PackedArguments {
  /** Tells a cluster which of its servers to ask. */
  readonly firstKey: string;
  readonly keyCount: number;
  readonly argumentCount: number;
  /** The keys, then the arguments. */
  readonly frames: readonly Uint8Array[];
}

export type CallLimit = 'of connection' | 'of caller';

/** Used again for every call; nothing is awaited while one is packed. */
const head = new ByteWriter(256);
const writer = new ByteWriter(65_536);

export function packArguments(keys: readonly string[], args: readonly string[]): PackedArguments {
  writer.clear();
  for (const key of keys) writer.frame(key);
  for (const arg of args) writer.frame(arg);
  return { firstKey: keys[0] ?? '', keyCount: keys.length, argumentCount: args.length, frames: [writer.written()] };
}

/**
 * A script call with very many keys, written into one buffer at once: ioredis would make each of them a buffer of its own,
 * which costs more than everything else about the call.
 */
export class PackedCall extends Command {
  private readonly bytes: Buffer;

  /**
   * @param script its hash for evalsha, its source for eval
   * @param limit who gives it up if it is not answered: the connection after its `commandTimeout`, or the caller, long before
   */
  constructor(
    name: 'evalsha' | 'eval',
    script: string,
    call: PackedArguments,
    private readonly limit: CallLimit,
  ) {
    super(name, [script, '1', call.firstKey]);
    this.bytes = packed(name, script, call);
  }

  /** A timer for each call costs more than it does to pack one. */
  override setTimeout(ms: number): void {
    if (this.limit === 'of connection') super.setTimeout(ms);
  }

  override toWritable(): Buffer {
    return this.bytes;
  }
}

function packed(name: string, script: string, { keyCount, argumentCount, frames }: PackedArguments): Buffer {
  head.clear();
  head.ascii(`*${3 + keyCount + argumentCount}\r\n`);
  for (const text of [name, script, String(keyCount)]) head.frame(text);
  return Buffer.concat([head.written(), ...frames]);
}
