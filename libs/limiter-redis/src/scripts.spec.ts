import { Script } from './scripts.js';
import type { RedisConnection } from './connection/redis-connection.js';

const NOT_ASKED = {} as RedisConnection;
const unpackable = (): never => {
  throw new RangeError('too long');
};

test('a call that cannot be packed fails as one that is refused', async () => {
  const script = new Script('take');
  const heard: unknown[] = [];
  script.callPacked(
    NOT_ASKED,
    unpackable,
    'of caller',
    () => heard.push('answered'),
    (error) => heard.push(error.message),
  );
  expect(heard).toEqual(['too long']);
  await expect(script.runPacked(NOT_ASKED, unpackable)).rejects.toThrow('too long');
});
