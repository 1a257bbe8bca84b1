/** A service on Express that decides by itself, from the buckets of Tollgate. */
import { createTollgate } from 'tollgate/node-middleware';
import express from 'express';

const { REDIS_URL = 'redis://127.0.0.1:6379', DATABASE_URL, PORT = '8000', STORE_TIMEOUT_MS = '25' } = process.env;

const tollgate = await createTollgate({ redisUrl: REDIS_URL, databaseUrl: DATABASE_URL, storeTimeoutMs: Number(STORE_TIMEOUT_MS) });

const app = express();
app.get('/readyz', (request, response) => {
  tollgate.assertRulesRead();
  response.send('ready\n');
});
app.post('/login', tollgate.express({ route: 'login', limit: 5, windowMs: 60_000, key: ['ip'] }), (request, response) => {
  response.send('welcome\n');
});
// Behind the parser, so that rules can look at bodies.
app.use(express.json(), tollgate.express());
app.all('/transactions', (request, response) => {
  response.send('served\n');
});

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  process.stdout.write(`listens on ${server.address().port}\n`);
});

process.once('SIGTERM', () => {
  // Nothing is left then, and the process ends by itself.
  server.close(() => tollgate.close());
});
