/** Upstreams that each read a path in their own way and answer with the name of the route they serve it by. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import Fastify from 'fastify';

/** The routes that all have, each with everything below it. */
export const ROUTES = ['transactions', 'graphql', 'objects', 'matrix'] as const;
export const OTHER = 'other';

export interface PathReadingUpstream {
  readonly name: string;
  /** Whether it takes /A for /a. */
  readonly ignoresCase: boolean;
  start(): Promise<{ url: URL; close(): Promise<void> }>;
}

export const UPSTREAMS: readonly PathReadingUpstream[] = [
  expressUpstream('Express', {}),
  expressUpstream('Express, strict and case sensitive', { strict: true, caseSensitive: true }),
  fastifyUpstream('Fastify', {}),
  fastifyUpstream('Fastify, lenient', { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, useSemicolonDelimiter: true }),
  fastifyUpstream('Fastify, case insensitive', { caseSensitive: false }),
  ownUpstream('a server that reads paths like nginx', false, likeNginx),
  ownUpstream('a server that reads paths like a servlet container', false, likeServlets),
  ownUpstream('a server that reads paths like Windows', true, likeWindows),
  ownUpstream('a server behind a proxy that decodes too', false, twiceDecoded),
];

function expressUpstream(name: string, { strict = false, caseSensitive = false }): PathReadingUpstream {
  return {
    name,
    ignoresCase: !caseSensitive,
    async start() {
      const app = express();
      app.set('strict routing', strict);
      app.set('case sensitive routing', caseSensitive);
      for (const route of ROUTES) app.all([`/${route}`, `/${route}/*rest`], (_request, response) => void response.send(`<${route}>`));
      app.use((_request, response) => void response.send(`<${OTHER}>`));
      const server = app.listen(0, '127.0.0.1');
      await new Promise<void>((resolve) => server.once('listening', resolve));
      return {
        url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
        close: () =>
          new Promise((resolve) => {
            server.close(() => resolve());
            server.closeAllConnections();
          }),
      };
    },
  };
}

/** Fastify's types do not know all of these in this place. */
interface RouterOptions {
  caseSensitive?: boolean;
  ignoreTrailingSlash?: boolean;
  ignoreDuplicateSlashes?: boolean;
  useSemicolonDelimiter?: boolean;
}

function fastifyUpstream(name: string, routerOptions: RouterOptions): PathReadingUpstream {
  return {
    name,
    ignoresCase: routerOptions.caseSensitive === false,
    async start() {
      const app = Fastify({ routerOptions, forceCloseConnections: true });
      for (const route of ROUTES) for (const path of [`/${route}`, `/${route}/*`]) app.all(path, () => `<${route}>`);
      app.setNotFoundHandler(() => `<${OTHER}>`);
      return { url: new URL(await app.listen({ port: 0, host: '127.0.0.1' })), close: () => app.close() };
    },
  };
}

function ownUpstream(name: string, ignoresCase: boolean, segmentsOf: (path: string) => string[]): PathReadingUpstream {
  const answer: RequestListener = (request, response) => {
    const path = request.url!.split('?', 1)[0]!;
    const [first = ''] = segmentsOf(path);
    const wanted = ignoresCase ? first.toLowerCase() : first;
    request.resume();
    response.end(`<${ROUTES.find((route) => route === wanted) ?? OTHER}>`);
  };
  return {
    name,
    ignoresCase,
    async start() {
      const server = createServer(answer);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return {
        url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
        close: () =>
          new Promise((resolve) => {
            server.close(() => resolve());
            server.closeAllConnections();
          }),
      };
    },
  };
}

/** Every escape is decoded once, then slashes are merged and dots resolved. */
function likeNginx(path: string): string[] {
  return resolved(bytesDecoded(path).split('/'));
}

/** Parameters are cut off each segment before anything is decoded. */
function likeServlets(path: string): string[] {
  const named = path.split('/').map((segment) => segment.split(';', 1)[0]!);
  return resolved(bytesDecoded(named.join('/')).split('/'));
}

/** Decoded, with both slashes, and parameters seen after decoding. */
function likeWindows(path: string): string[] {
  return resolved(
    bytesDecoded(path)
      .split(/[/\\]/)
      .map((segment) => segment.split(';', 1)[0]!),
  );
}

/** Decoded twice, and only then cut at ? and #. */
function twiceDecoded(path: string): string[] {
  return resolved(bytesDecoded(bytesDecoded(path)).split(/[?#]/, 1)[0]!.split('/'));
}

/** Escapes as bytes, overlong forms of / and . included, as decoders without checks do it. */
function bytesDecoded(text: string): string {
  return text
    .replace(/%c0%af/gi, '/')
    .replace(/%c0%ae/gi, '.')
    .replace(/%([0-9a-f]{2})/gi, (_escape, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}

function resolved(parts: readonly string[]): string[] {
  const segments: string[] = [];
  for (const part of parts) {
    if (part === '' || part === '.') continue;
    if (part === '..') segments.pop();
    else segments.push(part);
  }
  return segments;
}
