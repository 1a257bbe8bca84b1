import { Command } from 'ioredis';
import { ByteWriter } from './byte-writer.js';

/** Keys and arguments of a script call, packed as far as they can be. */
export interface PackedArguments {
  /** Tells a cluster which of its servers to ask. */
  readonly firstKey: string;
  readonly keyCount: number;
  /** All keys, as Redis wants them: `$<bytes>\r\n<key>\r\n` each. */
  readonly keyFrames: Uint8Array;
  readonly args: readonly (string | Uint8Array)[];
}

/** Packs keys and arguments that are not packed yet. */
export function packArguments(keys: readonly string[], args: readonly string[]): PackedArguments {
  const writer = new ByteWriter(32 * keys.length);
  for (const key of keys) writer.frame(key);
  return { firstKey: keys[0] ?? '', keyCount: keys.length, keyFrames: writer.written(), args };
}

/**
 * A script call with very many keys, written into one buffer at once: ioredis would make each of them a buffer of its own,
 * which costs more than everything else about the call.
 */
export class PackedCall extends Command {
  private readonly bytes: Buffer;

  /** @param script its hash for evalsha, its source for eval */
  constructor(name: 'evalsha' | 'eval', script: string, call: PackedArguments) {
    super(name, [script, '1', call.firstKey]);
    this.bytes = packed(name, script, call);
  }

  override toWritable(): Buffer {
    return this.bytes;
  }
}

function packed(name: string, script: string, { keyCount, keyFrames, args }: PackedArguments): Buffer {
  const pieces: (string | Uint8Array)[] = [`*${3 + keyCount + args.length}\r\n`, frame(name), frame(script), frame(String(keyCount)), keyFrames];
  for (const arg of args) {
    if (typeof arg === 'string') pieces.push(frame(arg));
    else pieces.push(`$${arg.length}\r\n`, arg, '\r\n');
  }
  let size = 0;
  for (const piece of pieces) size += Buffer.byteLength(piece);
  const buffer = Buffer.allocUnsafe(size);
  let at = 0;
  for (const piece of pieces) {
    if (typeof piece === 'string') {
      at += buffer.write(piece, at);
    } else {
      buffer.set(piece, at);
      at += piece.length;
    }
  }
  return buffer;
}

const frame = (text: string): string => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
