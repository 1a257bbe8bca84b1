import { failureOf } from './redis-error.js';

/** As redis 7.0.15, redis 6 and ioredis 6 say it. */
const reply = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' });
const network = (code: string, message = code): Error => Object.assign(new Error(message), { code });

test.each([
  [
    reply("OOM command not allowed when used memory > 'maxmemory'. script: 222af309ab65ccd4a01ba9022c164b5ae833443e, on @user_script:1."),
    'OOM',
  ],
  [reply("READONLY You can't write against a read only replica."), 'READONLY'],
  [
    reply(
      "ERR Error running script (call to f_b4388c0caa156a90df7441ee28a5d55f4e0283cc): @user_script:241: @user_script: 241: -READONLY You can't write against a read only replica.",
    ),
    'READONLY',
  ],
  [
    reply(
      "ERR Error running script (call to f_b4388c0caa156a90df7441ee28a5d55f4e0283cc): @user_script:241: @user_script: 241: -OOM command not allowed when used memory > 'maxmemory'.",
    ),
    'OOM',
  ],
  [reply('LOADING Redis is loading the dataset in memory'), 'LOADING'],
  [reply("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."), 'MASTERDOWN'],
  [reply('CLUSTERDOWN The cluster is down'), 'CLUSTERDOWN'],
  [
    reply('NOREPLICAS Not enough good replicas to write. script: b4388c0caa156a90df7441ee28a5d55f4e0283cc, on @user_script:1.'),
    'NOREPLICAS',
  ],
  [reply('MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist on disk.'), 'MISCONF'],
  [reply('BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.'), 'BUSY'],
  [reply("NOPERM this user has no permissions to run the 'evalsha' command"), 'NOPERM'],
  [
    reply(
      "ERR The user executing the script can't run this command or subcommand script: b4388c0caa156a90df7441ee28a5d55f4e0283cc, on @user_script:1.",
    ),
    'NOPERM',
  ],
  [reply('NOAUTH Authentication required.'), 'NOAUTH'],
  [reply('WRONGPASS invalid username-password pair or user is disabled.'), 'WRONGPASS'],
  [reply('ERR max number of clients reached'), 'MAXCLIENTS'],
  [reply('NOSCRIPT No matching script. Please use EVAL.'), 'NOSCRIPT'],
  [reply('WRONGTYPE Operation against a key holding the wrong kind of value'), 'WRONGTYPE'],
  [reply('ERR something else'), 'ERR'],
  [reply('CONSTRUCTOR is no code of Redis'), 'ERR'],
  [network('ENOTFOUND', 'getaddrinfo ENOTFOUND redis'), 'DNS'],
  [network('EAI_AGAIN'), 'DNS'],
  [network('ECONNREFUSED'), 'REFUSED'],
  [new AggregateError([network('ECONNREFUSED'), network('ENETUNREACH')]), 'REFUSED'],
  [network('EHOSTUNREACH'), 'UNREACHABLE'],
  [network('ECONNRESET'), 'RESET'],
  [network('ETIMEDOUT', 'connect ETIMEDOUT'), 'TIMEOUT'],
  [new Error('Command timed out'), 'TIMEOUT'],
  [network('DEPTH_ZERO_SELF_SIGNED_CERT'), 'TLS'],
  [network('ERR_TLS_CERT_ALTNAME_INVALID'), 'TLS'],
  [network('EPROTO', 'write EPROTO wrong version number'), 'TLS'],
  [new Error("Stream isn't writeable and enableOfflineQueue options is false"), 'DISCONNECTED'],
  [
    Object.assign(new Error('Reached the max retries per request limit (which is 0).'), { name: 'MaxRetriesPerRequestError' }),
    'DISCONNECTED',
  ],
  [Object.assign(new Error('Failed to refresh slots cache.'), { lastNodeError: network('ECONNREFUSED') }), 'REFUSED'],
  [new Error('something new'), 'OTHER'],
  [undefined, 'OTHER'],
])('%s is %s', (error, code) => {
  expect(failureOf(error).code).toBe(code);
});

test('the message of an error is one line without hashes of scripts, arguments and credentials', () => {
  const said = (message: string): string => failureOf(reply(message)).said;
  expect(
    said("OOM command not allowed when used memory > 'maxmemory'. script: 222af309ab65ccd4a01ba9022c164b5ae833443e, on @user_script:1."),
  ).toBe("OOM command not allowed when used memory > 'maxmemory'.");
  expect(said("ERR unknown command 'evalsha', with args beginning with: '222a' '1' 'tg:{acme}1.0'")).toBe("ERR unknown command 'evalsha'");
  expect(said('ERR no way to\nredis://user:hunter2@host')).toBe('ERR no way to redis://[redacted]@host');
  expect(said(`ERR ${'x'.repeat(1000)}`)).toHaveLength(200);
});
