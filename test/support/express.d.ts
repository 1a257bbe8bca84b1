/** As much of Express as the tests use; its types are no part of the package. */
declare module 'express' {
  import type { Server } from 'node:http';

  type Handler = (request: unknown, response: { send(text: string): unknown }) => void;

  interface Application {
    set(setting: string, value: unknown): this;
    all(paths: string[], handler: Handler): this;
    use(handler: Handler): this;
    listen(port: number, host: string): Server;
  }

  export default function express(): Application;
}
