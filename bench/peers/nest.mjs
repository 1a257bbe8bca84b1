/** A limiting proxy as Nest users build one: node nest.mjs UPSTREAM_URL REDIS_URL */
import 'reflect-metadata';
import { Agent } from 'node:http';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { All, Controller, Module, Next, Req, Res } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { createProxyMiddleware } from 'http-proxy-middleware';

const [upstream, redisUrl] = process.argv.slice(2);
// Without an agent of its own http-proxy opens a connection for every request, which makes it three times as slow.
const proxy = createProxyMiddleware({ target: upstream, agent: new Agent({ keepAlive: true }) });

/** Decorators, applied by hand because this file is not compiled. */
class ProxyController {
  forward(request, response, next) {
    proxy(request, response, next);
  }
}
Controller()(ProxyController);
All('*path')(ProxyController.prototype, 'forward', Object.getOwnPropertyDescriptor(ProxyController.prototype, 'forward'));
Req()(ProxyController.prototype, 'forward', 0);
Res()(ProxyController.prototype, 'forward', 1);
Next()(ProxyController.prototype, 'forward', 2);

class AppModule {}
Module({
  imports: [
    ThrottlerModule.forRoot({
      throttlers: [{ ttl: 60_000, limit: 1_000_000_000 }],
      getTracker: (request) => request.headers['x-merchant-id'] ?? '',
      storage: new ThrottlerStorageRedisService(redisUrl),
    }),
  ],
  controllers: [ProxyController],
  providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
})(AppModule);

// The proxy streams bodies itself.
const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'], bodyParser: false });
await app.listen(0, '127.0.0.1');
console.log(`listening ${app.getHttpServer().address().port}`);
process.once('SIGTERM', () => process.exit(0));
