import { Command } from 'ioredis';

export type Argument = string | Buffer;

/**
 * A script call with very many keys and arguments, written into one buffer at once: ioredis would make each of them a buffer
 * of its own, which costs more than everything else about the call.
 */
export class PackedCall extends Command {
  private readonly bytes: Buffer;

  /** @param script its hash for evalsha, its source for eval */
  constructor(name: 'evalsha' | 'eval', script: string, keys: readonly string[], args: readonly Argument[]) {
    // The first key tells a cluster which of its servers to ask.
    super(name, [script, '1', ...keys.slice(0, 1)]);
    this.bytes = packed([name, script, String(keys.length)], keys, args);
  }

  override toWritable(): Buffer {
    return this.bytes;
  }
}

/** `$<length>\r\n` before and `\r\n` after. */
const FRAME = 16;

function packed(...parts: (readonly Argument[])[]): Buffer {
  let size = FRAME;
  let count = 0;
  for (const part of parts) {
    count += part.length;
    for (const argument of part) size += mostBytes(argument) + FRAME;
  }
  const buffer = Buffer.allocUnsafe(size);
  let at = put(buffer, `*${count}\r\n`, 0);
  for (const part of parts) for (const argument of part) at = putArgument(buffer, argument, at);
  return buffer.subarray(0, at);
}

/** UTF-8 takes three bytes at most for a UTF-16 unit; for a long text it is counted. */
function mostBytes(arg: Argument): number {
  return typeof arg === 'string' && arg.length <= SHORT ? 3 * arg.length : Buffer.byteLength(arg);
}

function putArgument(buffer: Buffer, arg: Argument, at: number): number {
  if (typeof arg === 'string' && isShortAscii(arg)) {
    at = put(buffer, LENGTH_LINES[arg.length]!, at);
    at = put(buffer, arg, at);
  } else {
    at = put(buffer, `$${Buffer.byteLength(arg)}\r\n`, at);
    at += typeof arg === 'string' ? buffer.write(arg, at) : arg.copy(buffer, at);
  }
  buffer[at++] = 0x0d;
  buffer[at++] = 0x0a;
  return at;
}

/** Up to this length a loop is cheaper than the way into C++. */
const SHORT = 40;
const LENGTH_LINES = Array.from({ length: SHORT + 1 }, (_, length) => `$${length}\r\n`);

function isShortAscii(text: string): boolean {
  if (text.length > SHORT) return false;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}

/** ASCII only. */
function put(buffer: Buffer, text: string, at: number): number {
  for (let i = 0; i < text.length; i++) buffer[at++] = text.charCodeAt(i);
  return at;
}
