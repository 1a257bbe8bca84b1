/** A TCP forwarder: an address behind which a test changes the server, or lets everything disappear without a word. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

export class Forwarder {
  /** Connections that were accepted, ever. */
  accepted = 0;
  private readonly pairs = new Set<Pair>();
  private swallowing = new WeakSet<Pair>();
  private black = false;

  private constructor(private readonly listener: Server, private targetPort: number) {
    listener.on('connection', (client) => this.accept(client));
  }

  static async to(targetPort: number): Promise<Forwarder> {
    const listener = createServer();
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    return new Forwarder(listener, targetPort);
  }

  get port(): number {
    return (this.listener.address() as AddressInfo).port;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** The address moves: new connections lead there. Those that exist stay where they are. */
  moveTo(targetPort: number): void {
    this.targetPort = targetPort;
  }

  /** From now on nothing comes through the connections that exist, in either direction, and nobody is told. */
  swallow(): void {
    for (const pair of this.pairs) this.swallowing.add(pair);
  }

  /** Nothing comes through any more: connections are accepted, what is sent is acknowledged, and nobody answers. */
  goBlack(): void {
    this.black = true;
    this.swallow();
  }

  /** The way is open again, for new connections: those that went black stay so. */
  comeBack(): void {
    this.black = false;
  }

  close(): void {
    this.listener.close();
    for (const { client, server } of this.pairs) {
      client.destroy();
      server.destroy();
    }
  }

  private accept(client: Socket): void {
    this.accepted++;
    const server = connect(this.targetPort, '127.0.0.1');
    const pair = { client, server };
    this.pairs.add(pair);
    if (this.black) this.swallowing.add(pair);
    this.relay(client, server, pair);
    this.relay(server, client, pair);
  }

  private relay(from: Socket, to: Socket, pair: Pair): void {
    from.on('error', () => {});
    from.on('data', (bytes) => void (this.swallowing.has(pair) || to.write(bytes)));
    from.on('close', () => {
      if (this.swallowing.has(pair)) return;
      this.pairs.delete(pair);
      to.destroy();
    });
  }
}
