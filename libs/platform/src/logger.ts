import { type LoggerService } from '@nestjs/common';
import { type DestinationStream, type Logger, type LoggerOptions, pino, stdSerializers, stdTimeFunctions } from 'pino';
import { logOutput } from './log-output.js';
import { requestContext } from './request-context.js';
import { type App, type LogLevel } from './variable.js';

export type { Logger } from 'pino';

const SECRET_FIELDS = ['authorization', 'token', 'adminToken', 'password', 'secret', 'cookie', 'apiKey'];
const SECRET_PATHS = SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]);

/** Credentials inside text: in URLs (`scheme://user:password@`) and bearer tokens. Messages of drivers quote such things. */
function withoutCredentials(line: string): string {
  return line.replace(/(:\/\/[^\s"/@:]*):[^\s"/]*@/g, '$1:[redacted]@').replace(/\b(Bearer|Basic) [A-Za-z0-9._~+/=-]+/gi, '$1 [redacted]');
}

/** ioredis' errors carry the command that failed: of a login the password, of others the keys and rules of merchants. */
function withoutCommand(error: Error): unknown {
  const fields: unknown = stdSerializers.err(error);
  if (typeof fields !== 'object' || fields === null) return fields;
  const { command: _command, ...others } = fields as { command?: unknown };
  return others;
}

/**
 * A logger that writes one JSON object a line, with `app`, `time` (ISO 8601), `level`, `msg`, and `requestId`
 * while a request is handled. Writes to stdout unless told otherwise; secrets are redacted.
 */
export function createLogger(app: App, level: LogLevel, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    base: { app },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: SECRET_PATHS, censor: '[redacted]' },
    serializers: { err: withoutCommand },
    mixin: () => requestContext.getStore() ?? {},
    hooks: { streamWrite: withoutCredentials },
  };
  if (destination) return pino(options, destination);
  // Not pino's own stream: it waits for ever, in process.exit too, for a reader that has gone or does not read.
  const logger: Logger = pino(
    options,
    logOutput(1, process.stdout, (lines) => {
      logger.warn({ lines }, 'lines of the log were lost, because they could not be written in time');
    }),
  );
  return logger;
}

/** At boot Nest tells of every module and route; that interests only those who look for a fault in the wiring. */
const CHATTY_CONTEXTS = new Set(['InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestFactory', 'NestApplication']);

/** Lets Nest log through pino. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...params: unknown[]): void {
    const { context } = describe(params);
    this.write(context !== undefined && CHATTY_CONTEXTS.has(context) ? 'debug' : 'info', message, params);
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
