/** A limiting proxy as Express users build one: node express.mjs UPSTREAM_URL REDIS_URL */
import { Agent } from 'node:http';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { Redis } from 'ioredis';
import { RedisStore } from 'rate-limit-redis';

const [upstream, redisUrl] = process.argv.slice(2);
const redis = new Redis(redisUrl);

const app = express();
app.disable('x-powered-by');
app.use(
  rateLimit({
    windowMs: 60_000,
    limit: 1_000_000_000,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    keyGenerator: (request) => request.get('x-merchant-id') ?? '',
    store: new RedisStore({ sendCommand: (command, ...args) => redis.call(command, ...args) }),
  }),
);
// Without an agent of its own http-proxy opens a connection for every request, which makes it three times as slow.
app.use(createProxyMiddleware({ target: upstream, agent: new Agent({ keepAlive: true }) }));

const server = app.listen(0, '127.0.0.1', () => console.log(`listening ${server.address().port}`));
process.once('SIGTERM', () => process.exit(0));
