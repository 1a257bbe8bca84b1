import cluster from 'node:cluster';
import type { LoggerService } from '@nestjs/common';
import { type DestinationStream, type Logger, type LoggerOptions, pino, stdSerializers, stdTimeFunctions } from 'pino';
import { logOutput } from './log-output.js';
import { requestContext } from './request-context.js';
import type { App, LogLevel } from './variables/variable.js';

export type { Logger } from 'pino';

const SECRET_FIELDS = ['authorization', 'token', 'adminToken', 'password', 'secret', 'cookie', 'apiKey'];
const SECRET_PATHS = SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]);

/** Redacts credentials inside text: in URLs (`scheme://user:password@`) and Authorization values. Drivers quote both in their messages. */
function withoutCredentials(line: string): string {
  return line.replace(/(:\/\/[^\s"/@:]*):[^\s"/]*@/g, '$1:[redacted]@').replace(/\b(Bearer|Basic) [A-Za-z0-9._~+/=-]+/gi, '$1 [redacted]');
}

/** Errors of ioredis hold the failed command: the password of a login, or the keys and rules of merchants; those of TLS a whole certificate. Both are left out. */
function withoutAttachments(error: Error): unknown {
  const fields: unknown = stdSerializers.err(error);
  if (typeof fields !== 'object' || fields === null) return fields;
  const { command: _command, cert: _cert, ...others } = fields as { command?: unknown; cert?: unknown };
  return others;
}

/**
 * A logger that writes one JSON object a line, with `app`, `worker` where it is one of several processes, `time` (ISO 8601), `level`, `msg`, and `requestId`
 * while a request is handled. It writes to stdout unless a destination is given. Secrets are redacted.
 */
export function createLogger(app: App, level: LogLevel, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    base: { app, ...(cluster.isWorker && { worker: cluster.worker!.id }) },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: SECRET_PATHS, censor: '[redacted]' },
    serializers: { err: withoutAttachments },
    mixin: () => requestContext.getStore() ?? {},
    hooks: { streamWrite: withoutCredentials },
  };
  if (destination) return pino(options, destination);
  // pino's own stream is not used: it waits for ever, also in process.exit, for a reader that has gone or does not read.
  const logger: Logger = pino(
    options,
    logOutput(1, process.stdout, (lines) => {
      logger.warn({ lines }, 'log lines were lost because they could not be written in time');
    }),
  );
  return logger;
}

/** The contexts in which Nest logs every module and route at boot. They help only to debug the wiring. */
const WIRING_CONTEXTS = new Set(['InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestFactory', 'NestApplication']);

/** Nest's own log lines, written by pino. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...params: unknown[]): void {
    const { context } = describe(params);
    this.write(context !== undefined && WIRING_CONTEXTS.has(context) ? 'debug' : 'info', message, params);
  }

  error(message: unknown, ...params: unknown[]): void {
    this.write('error', message, params);
  }

  warn(message: unknown, ...params: unknown[]): void {
    this.write('warn', message, params);
  }

  debug(message: unknown, ...params: unknown[]): void {
    this.write('debug', message, params);
  }

  verbose(message: unknown, ...params: unknown[]): void {
    this.write('trace', message, params);
  }

  fatal(message: unknown, ...params: unknown[]): void {
    this.write('fatal', message, params);
  }

  private write(level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal', message: unknown, params: unknown[]): void {
    const fields = describe(params);
    if (message instanceof Error) this.logger[level]({ ...fields, err: message }, message.message);
    else if (typeof message === 'string') this.logger[level](fields, message);
    else this.logger[level]({ ...fields, details: message }, 'message of the framework');
  }
}

/** Nest passes `(message, ...details, context?)`, and for errors a stack before the context. */
function describe(params: unknown[]): { context?: string; stack?: string } {
  const texts = params.filter((param): param is string => typeof param === 'string');
  const stack = texts.find((text) => text.includes('\n    at '));
  const context = texts.findLast((text) => text !== stack);
  return { ...(context !== undefined && { context }), ...(stack !== undefined && { stack }) };
}
