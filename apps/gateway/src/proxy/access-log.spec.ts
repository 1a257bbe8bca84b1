import { AccessLog } from './access-log.js';

const REQUEST = { requestId: 'r-1', merchant: 'acme', method: 'GET', status: 200, outcome: 'forwarded', durationMs: 1.2345 };

function lineOf(target: string): Record<string, unknown> {
  const lines: object[] = [];
  new AccessLog({ info: (fields, message) => void lines.push({ ...fields, message }) }).add({ ...REQUEST, target });
  expect(lines).toHaveLength(1);
  return { ...lines[0] };
}

test('a request that has ended is one line, without the query', () => {
  expect(lineOf('/cards?number=4111111111111111')).toEqual({ ...REQUEST, message: 'request', path: '/cards', durationMs: 1.2 });
});

test('a long path is cut', () => {
  expect(String(lineOf(`/${'a'.repeat(16_000)}`)['path'])).toHaveLength(512);
});
