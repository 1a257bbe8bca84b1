import type { Duplex } from 'node:stream';

/** So long both ends have to close after one of them has. Milliseconds. */
const CLOSING_MS = 5_000;

/** One end of a tunnel. */
export type TunnelEnd = Duplex & { readonly bytesRead: number };

/**
 * Bytes between a client and an upstream, both ways, whatever they mean. Each way waits for the one who reads: nothing is kept beyond the buffers of both streams. It ends
 * with the first of both ends that ends, once what that one has said has reached the other.
 */
export class Tunnel {
  private idleMs = 0;
  private bytes: number;
  private closing: NodeJS.Timeout | undefined;

  /** @param idleTimeoutMs how long nothing may come from either side */
  constructor(
    private readonly client: TunnelEnd,
    private readonly upstream: TunnelEnd,
    private readonly idleTimeoutMs: number,
  ) {
    this.bytes = this.bytesRead;
    for (const end of [client, upstream]) {
      // `close` follows.
      end.on('error', () => {});
      end.on('end', () => this.close());
      end.on('close', () => this.close());
    }
    pump(client, upstream);
    pump(upstream, client);
  }

  /** Says to both sides that nothing more comes, after what is on its way, and cuts them if they do not close then. */
  close(): void {
    if (this.closing !== undefined) {
      if (this.client.destroyed && this.upstream.destroyed) clearTimeout(this.closing);
      return;
    }
    this.closing = setTimeout(() => this.destroy(), CLOSING_MS).unref();
    this.client.end();
    this.upstream.end();
  }

  /** @returns whether it has been silent for too long */
  tick(elapsedMs: number): boolean {
    if (this.closing !== undefined) return false;
    const before = this.bytes;
    this.bytes = this.bytesRead;
    this.idleMs = this.bytes === before ? this.idleMs + elapsedMs : 0;
    return this.idleMs > this.idleTimeoutMs;
  }

  private get bytesRead(): number {
    return this.client.bytesRead + this.upstream.bytesRead;
  }

  private destroy(): void {
    this.client.destroy();
    this.upstream.destroy();
  }
}

function pump(from: Duplex, to: Duplex): void {
  from.on('data', (chunk: Buffer) => {
    // After the end of the other one what still comes is thrown away, so that the end of this one is seen.
    if (to.writable && !to.write(chunk)) from.pause();
  });
  to.on('drain', () => from.resume());
  to.on('close', () => from.resume());
}
