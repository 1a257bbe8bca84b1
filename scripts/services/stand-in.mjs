/** Runs js-redis-server, the stand-in for Redis written in JavaScript: node stand-in.mjs PORT */
import { Server } from 'node:net';
import { createRedisServer } from 'js-redis-server';

// It has no password, and no option for the address it listens on: all of them, unless we say loopback for it.
const { listen } = Server.prototype;
/** @type {any} */ (Server.prototype).listen = /** @this {Server} @param {number} port */ function (port) {
  return listen.call(this, /** @type {any} */ ({ port, host: '127.0.0.1' }));
};

const server = await createRedisServer({ port: Number(process.argv[2]) });
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => server.close().finally(() => process.exit(0)));
