import { createLogger, NestLogger } from './logger.js';
import { requestContext } from './request-context.js';

function recorded() {
  const lines: string[] = [];
  const logger = createLogger('gateway', 'debug', { write: (line) => void lines.push(line) });
  return { logger, lines, last: () => JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown> };
}

describe('createLogger', () => {
  it('writes one JSON object with app, level, ISO time and message', () => {
    const { logger, last } = recorded();
    logger.info({ answer: 42 }, 'hello');
    expect(last()).toMatchObject({ app: 'gateway', level: 'info', msg: 'hello', answer: 42 });
    expect(new Date(last()['time'] as string).toISOString()).toBe(last()['time']);
  });

  it('adds the request id while a request is handled, also after awaiting', async () => {
    const { logger, last } = recorded();
    await requestContext.run({ requestId: 'r-1' }, async () => {
      await new Promise(setImmediate);
      logger.info('inside');
    });
    expect(last()).toMatchObject({ requestId: 'r-1' });
    logger.info('outside');
    expect(last()).not.toHaveProperty('requestId');
  });

  it.each([
    [{ authorization: 'Bearer hunter2hunter2' }],
    [{ headers: { authorization: 'hunter2hunter2' } }],
    [{ req: { headers: { cookie: 'hunter2hunter2' } } }],
    [{ adminToken: 'hunter2hunter2' }],
    [{ password: 'hunter2hunter2' }],
    [{ url: 'postgres://user:hunter2hunter2@db/x' }],
    [{ err: new Error('connect redis://:hunter2hunter2@r:6379 failed') }],
    [{ text: 'got Bearer hunter2hunter2' }],
    [{ err: Object.assign(new Error('WRONGPASS'), { command: { name: 'hello', args: ['3', 'AUTH', 'default', 'hunter2hunter2'] } }) }],
    [{ err: Object.assign(new Error('ERR_TLS_CERT_ALTNAME_INVALID'), { cert: { raw: 'hunter2hunter2' } }) }],
  ])('redacts the secret in %o', (fields) => {
    const { logger, lines } = recorded();
    logger.error(fields, 'oops postgres://u:p@hunter2hunter2@db/x');
    expect(lines.join()).not.toContain('hunter2');
    expect(lines).toHaveLength(1);
    expect(() => JSON.parse(lines[0] ?? '') as unknown).not.toThrow();
  });
});

describe('NestLogger', () => {
  it('keeps context and stack of an error', () => {
    const { logger, last } = recorded();
    new NestLogger(logger).error('broken', 'Error: broken\n    at here', 'Module');
    expect(last()).toMatchObject({ level: 'error', msg: 'broken', context: 'Module', stack: 'Error: broken\n    at here' });
  });

  it('logs the wiring of Nest at the level debug', () => {
    const { logger, last } = recorded();
    new NestLogger(logger).log('Mapped {/x, GET} route', 'RouterExplorer');
    expect(last()).toMatchObject({ level: 'debug', context: 'RouterExplorer' });
    new NestLogger(logger).log('ready', 'Other');
    expect(last()).toMatchObject({ level: 'info' });
  });

  it('logs errors and objects as fields', () => {
    const { logger, last } = recorded();
    new NestLogger(logger).error(new Error('boom'));
    expect(last()).toMatchObject({ msg: 'boom', err: { message: 'boom' } });
    new NestLogger(logger).warn({ some: 'thing' });
    expect(last()).toMatchObject({ level: 'warn', details: { some: 'thing' } });
  });
});
