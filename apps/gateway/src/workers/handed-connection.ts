import type { Worker } from 'node:cluster';

interface Closable {
  close(): void;
}

/**
 * Closes the connection that a worker was handed last, if the worker dies before it has taken it: the primary of node:cluster waits for a word that never comes, and the
 * client would wait as long. One connection at most is on its way to a worker. To close it twice does no harm.
 */
export function closeWhatIsHandedTo(worker: Worker): void {
  const { process: child } = worker;
  const send = child.send.bind(child) as (...args: unknown[]) => boolean;
  let handed: Closable | undefined;
  // node:cluster has no event for it, but hands connections over by this method.
  child.send = (message: unknown, handle?: unknown, ...others: unknown[]) => {
    if (isConnection(message) && isClosable(handle)) handed = handle;
    return send(message, handle, ...others);
  };
  worker.once('exit', () => handed?.close());
}

function isConnection(message: unknown): boolean {
  return typeof message === 'object' && message !== null && (message as { readonly act?: unknown }).act === 'newconn';
}

function isClosable(handle: unknown): handle is Closable {
  return typeof handle === 'object' && handle !== null && typeof (handle as Partial<Closable>).close === 'function';
}
