/** As much of Express, 5 and 4, as the tests use; its types are no part of the packages. */
declare module 'express' {
  import type { IncomingMessage, Server, ServerResponse } from 'node:http';

  type Request = IncomingMessage & { readonly params: Readonly<Record<string, string>> };
  type Response = ServerResponse & { send(text: string): unknown; status(code: number): Response };
  type Handler = (request: Request, response: Response, next: (error?: unknown) => void) => void;

  interface Router {
    get(path: string, ...handlers: Handler[]): this;
    post(path: string, ...handlers: Handler[]): this;
    all(paths: string | string[], ...handlers: Handler[]): this;
    use(handler: Handler): this;
    use(path: string, handler: Handler | Router): this;
  }

  interface Application extends Router {
    set(setting: string, value: unknown): this;
    listen(port: number, host: string): Server;
  }

  interface Express {
    (): Application;
    Router(): Router;
    json(): Handler;
  }

  const express: Express;
  export default express;
}

declare module 'express-4' {
  import express from 'express';
  export default express;
}
