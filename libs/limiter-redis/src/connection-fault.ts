import type { Redis } from 'ioredis';
import { isCluster, type RedisConnection } from './redis-connection.js';
import { failureOf, type StoreFailure } from './redis-error.js';

/**
 * Why there is no connection. Commands then fail with nothing but that there is none; the reason (a refused connection, a
 * wrong password, a certificate, a server that has sent us away) was heard before, from the connection itself.
 */
export class ConnectionFault {
  private latest: StoreFailure | undefined;
  private readonly onError = (error: unknown): void => {
    const failure = failureOf(error);
    // That there is none is known. It does not take the place of a reason.
    if (failure.code !== 'DISCONNECTED' || this.latest === undefined) this.latest = failure;
    this.onFault();
  };
  private readonly onReady = (): void => void (this.latest = undefined);
  private readonly onNodeError = (error: unknown, node: string): void => {
    if (node === this.node) this.onError(error);
  };
  private readonly onNewNode = ({ options: { host, port } }: Redis): void => {
    if (`${host}:${port}` === this.node) this.onReady();
  };

  /**
   * @param onFault told of each fault of the connection, also where no call meets it
   * @param node of a cluster, the one to listen to
   */
  constructor(
    private readonly redis: RedisConnection,
    private readonly onFault: () => void,
    private readonly node?: string,
  ) {
    redis.on('error', this.onError);
    redis.on('ready', this.onReady);
    if (isCluster(redis)) redis.on('node error', this.onNodeError).on('+node', this.onNewNode);
  }

  /** What a call was rejected with, with the reason where there is one. */
  explain(error: unknown): StoreFailure {
    const failure = failureOf(error);
    if (failure.code === 'DISCONNECTED') return this.latest ?? failure;
    if (failure.needsNewConnection) this.latest = failure;
    return failure;
  }

  close(): void {
    this.redis.off('error', this.onError);
    this.redis.off('ready', this.onReady);
    if (isCluster(this.redis)) this.redis.off('node error', this.onNodeError).off('+node', this.onNewNode);
  }
}
