/** The same service on each framework, with Tollgate in front of its handlers. */
import 'reflect-metadata';
import { createServer, request as ask, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Controller, Get, HttpCode, Module, Param, Post, Req, Res, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ExpressAdapter } from '@nestjs/platform-express';
import { createTollgate, type Tollgate, type TollgateOptions } from '#node-middleware';
import { RateLimit, SkipRateLimit, TollgateModule, TollgateService } from '#node-middleware/nest';
import expressFive from 'express';
import expressFour from 'express-4';
import { fastify } from 'fastify';

/** Every handler, by the path under which it stands. Those of /slow answer when they are told to. */
export class Handlers {
  readonly called: string[] = [];
  private readonly slow: (() => void)[] = [];

  call(path: string): string {
    this.called.push(path);
    return path;
  }

  async wait(path: string): Promise<string> {
    await new Promise<void>((resolve) => {
      this.slow.push(resolve);
      this.call(path);
    });
    return path;
  }

  /** Lets the slow ones answer. */
  release(): void {
    for (const answer of this.slow.splice(0)) answer();
  }
}

export interface Service {
  readonly name: string;
  readonly port: number;
  readonly tollgate: Tollgate;
  readonly handlers: Handlers;
  /** Whether the framework finds a handler whatever the case of a path. */
  readonly ignoresCase: boolean;
  /** As a service ends: its server first. */
  close(): Promise<void>;
}

type Start = (options: TollgateOptions) => Promise<Service>;

const LIMITED = { limit: 2, windowMs: 86_400_000 };

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const closed = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

async function onExpress(name: string, express: typeof expressFive, options: TollgateOptions): Promise<Service> {
  const tollgate = await createTollgate(options);
  const handlers = new Handlers();
  const app = express();
  // A route of its own options stands before the middleware for all.
  app.post('/login', tollgate.express({ route: 'login', ...LIMITED }), (_request, response) => response.send(handlers.call('/login')));
  app.use(express.json());
  app.use(tollgate.express({ skip: ({ url }: { url: string }) => url === '/health' }));
  app.get('/health', (_request, response) => response.send(handlers.call('/health')));
  app.get('/slow', (_request, response) => void handlers.wait('/slow').then((text) => response.send(text)));
  app.all('/status/:status', (request, response) => response.status(Number(request.params.status)).send(handlers.call('/status')));
  const router = express.Router();
  router.all('/things', (_request, response) => response.send(handlers.call('/things')));
  app.use('/api', router);
  app.all('/', (_request, response) => response.send(handlers.call('/')));
  const server = createServer(app as never);
  const close = async (): Promise<void> => {
    await closed(server);
    await tollgate.close();
  };
  return { name, port: await listening(server), tollgate, handlers, ignoresCase: true, close };
}

async function onFastify(options: TollgateOptions): Promise<Service> {
  const tollgate = await createTollgate(options);
  const handlers = new Handlers();
  const app = fastify({ forceCloseConnections: true });
  await app.register(tollgate.fastify, { hook: 'preHandler' });
  app.post('/login', { config: { tollgate: { ...LIMITED } } }, () => handlers.call('/login'));
  app.get('/health', { config: { tollgate: { skip: true } } }, () => handlers.call('/health'));
  app.get('/slow', () => handlers.wait('/slow'));
  app.all('/status/:status', (request, reply) =>
    reply.code(Number((request.params as { status: string }).status)).send(handlers.call('/status')),
  );
  await app.register(async (router) => void router.all('/things', () => handlers.call('/things')), { prefix: '/api' });
  app.all('/', () => handlers.call('/'));
  app.addHook('onClose', () => tollgate.close());
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  return { name: 'fastify', port, tollgate, handlers, ignoresCase: false, close: () => app.close() };
}

async function onNest(name: string, adapter: ExpressAdapter | FastifyAdapter, options: TollgateOptions): Promise<Service> {
  const handlers = new Handlers();

  @Controller()
  class Root {
    @Post('login')
    @HttpCode(200)
    @RateLimit(LIMITED)
    login(): string {
      return handlers.call('/login');
    }

    @Get('health')
    @SkipRateLimit()
    health(): string {
      return handlers.call('/health');
    }

    @Get('slow')
    slow(): Promise<string> {
      return handlers.wait('/slow');
    }

    @Get('status/:status')
    status(@Param('status') status: string, @Res({ passthrough: true }) response: { status(code: number): unknown }): string {
      response.status(Number(status));
      return handlers.call('/status');
    }

    @Get()
    root(@Req() _request: unknown): string {
      return handlers.call('/');
    }

    @Post()
    @HttpCode(200)
    posted(): string {
      return handlers.call('/');
    }
  }

  @Controller('api')
  class Api {
    @Get('things')
    things(): string {
      return handlers.call('/things');
    }
  }

  @Module({ imports: [TollgateModule.forRootAsync({ useFactory: () => options })], controllers: [Root, Api] })
  class App {}

  const app: INestApplication = await NestFactory.create(App, adapter as never, {
    logger: false,
    abortOnError: false,
    forceCloseConnections: true,
  });
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  const { tollgate } = app.get(TollgateService);
  return { name, port, tollgate, handlers, ignoresCase: adapter instanceof ExpressAdapter, close: () => app.close() };
}

export const SERVICES: Readonly<Record<string, Start>> = {
  'express-5': (options) => onExpress('express-5', expressFive, options),
  'express-4': (options) => onExpress('express-4', expressFour, options),
  fastify: onFastify,
  'nest-express': (options) => onNest('nest-express', new ExpressAdapter(), options),
  'nest-fastify': (options) => onNest('nest-fastify', new FastifyAdapter(), options),
};

export interface Answered {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface Asking {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
}

/** One request on a connection of its own; the path goes as it is. Rejects if there is no whole answer. */
export function send({ port }: Pick<Service, 'port'>, merchant: string, asking: Asking = {}): Promise<Answered> {
  const { path = '/', method = 'GET', headers = {}, body, signal } = asking;
  return new Promise((resolve, reject) => {
    const named = merchant === '' ? {} : { 'x-merchant-id': merchant };
    const typed = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
    const request = ask(
      { port, host: '127.0.0.1', path, method, headers: { ...named, ...typed, ...headers }, agent: false, signal },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (text += chunk));
        response.on('error', reject);
        response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, body: text }));
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}
