import { spawnSync } from 'node:child_process';
import { bundleOf } from '../../../scripts/paths.mjs';
import type { AppName } from '../../support/processes.js';

test.each<[AppName, readonly string[]]>([
  ['rules-api', ['DATABASE_URL', 'TOLLGATE_ADMIN_TOKEN', 'LOG_LEVEL']],
  ['preloader', ['DATABASE_URL', 'REDIS_URL', 'QUEUE_REDIS_URL', 'LOG_LEVEL']],
  ['gateway', ['DATABASE_URL', 'REDIS_URL', 'UPSTREAM_URL', 'LOG_LEVEL']],
])('the %s exits with code 2 and names %j when they are missing or wrong', (app, variables) => {
  const env = { PATH: process.env['PATH'], LOG_LEVEL: 'loud', QUEUE_REDIS_URL: 'http://queue' };
  const { status, stderr } = spawnSync(process.execPath, [bundleOf(app)], { env, encoding: 'utf8' });
  expect(status).toBe(2);
  expect(stderr.match(/^ {2}[A-Z_]+(?=:)/gm)?.map((name) => name.trim())).toEqual(variables);
});
