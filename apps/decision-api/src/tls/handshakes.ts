import type { Server, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { canonicalAddress, peerGroup } from '#addresses';
import type { Logger } from '#platform';

export interface HandshakesOptions {
  /** Handshakes of one address that are under way; further connections of it are closed. */
  readonly mostOfPeer: number;
  readonly logger: Pick<Logger, 'warn'>;
  readonly nowMs?: () => number;
}

/** Whoever speaks no TLS comes again: one line tells of all. */
const SAY_EVERY_MS = 60_000;

/** Connections on which TLS is not spoken yet. A slow handshake ends by its own timeout; this bounds how many of them one address has. */
export class Handshakes {
  /** Connections that ended before TLS was spoken. */
  failed = 0;
  private readonly pending = new Map<Socket, () => void>();
  private readonly byEnds = new Map<string, Socket>();
  private readonly ofPeer = new Map<string, number>();
  private saidAtMs = -Infinity;
  private failedUnsaid = 0;

  constructor(private readonly options: HandshakesOptions) {}

  get underWay(): number {
    return this.pending.size;
  }

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.begins(socket));
    server.on('secureConnection', (socket: TLSSocket) => this.endOf(this.byEnds.get(endsOf(socket))));
    server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
      this.fails(error);
      // Node only tells of a handshake that takes too long.
      socket.destroy();
    });
  }

  /** Ends those that are under way. */
  cut(): void {
    for (const socket of [...this.pending.keys()]) socket.destroy();
  }

  private begins(socket: Socket): void {
    const peer = peerGroup(canonicalAddress(socket.remoteAddress ?? ''));
    const count = this.ofPeer.get(peer) ?? 0;
    if (count >= this.options.mostOfPeer) {
      socket.destroy();
      return;
    }
    this.ofPeer.set(peer, count + 1);
    const ends = endsOf(socket);
    this.byEnds.set(ends, socket);
    this.pending.set(socket, () => {
      this.byEnds.delete(ends);
      const left = this.ofPeer.get(peer)! - 1;
      if (left === 0) this.ofPeer.delete(peer);
      else this.ofPeer.set(peer, left);
    });
    socket.on('close', () => this.endOf(socket));
  }

  private endOf(socket: Socket | undefined): void {
    if (socket === undefined) return;
    const forget = this.pending.get(socket);
    this.pending.delete(socket);
    forget?.();
  }

  private fails(error: NodeJS.ErrnoException): void {
    this.failed++;
    // Whoever only looks whether somebody listens closes again, which is nobody's fault.
    if (error.code === 'ECONNRESET') return;
    this.failedUnsaid++;
    const { logger, nowMs = () => performance.now() } = this.options;
    const now = nowMs();
    if (now - this.saidAtMs < SAY_EVERY_MS) return;
    logger.warn({ err: error, failed: this.failedUnsaid }, 'connections ended before TLS was spoken; the last one is told');
    this.saidAtMs = now;
    this.failedUnsaid = 0;
  }
}

/** A socket of TLS knows nothing of the one below it, but has its ends. */
function endsOf({ remoteAddress, remotePort, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localPort}`;
}
