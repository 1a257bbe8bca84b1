import { serviceNamed } from './protos.js';
import { StrictReader } from './strict-reader.js';

const TOO_LARGE = 'a number is larger than 32 bits';
const reader = (hex: string): StrictReader => new StrictReader(Buffer.from(hex.replaceAll(' ', ''), 'hex'));

/** What is read, and how much of it. */
function read(hex: string, what: 'uint32' | 'int32' | 'string'): unknown {
  const its = reader(hex);
  try {
    return [its[what](), its.pos];
  } catch (error) {
    return (error as Error).message;
  }
}

test.each<[hex: string, what: 'uint32' | 'int32' | 'string', read: unknown]>([
  ['00', 'uint32', [0, 1]],
  ['7f', 'uint32', [127, 1]],
  ['80 01', 'uint32', [128, 2]],
  ['ff ff ff ff 0f', 'uint32', [2 ** 32 - 1, 5]],
  ['80 80 80 80 10', 'uint32', TOO_LARGE],
  ['80 80 80 80 80 01', 'uint32', expect.any(String)],
  // 2^63
  ['80 80 80 80 80 80 80 80 80 01', 'uint32', TOO_LARGE],
  ['80 80 80 80 80 80 80 80 80 01', 'string', TOO_LARGE],
  ['ff ff ff ff ff ff ff ff ff 01', 'int32', [-1, 10]],
  ['03', 'int32', [3, 1]],
])('%s as %s is %j', (hex, what, expected) => {
  expect(read(hex, what)).toEqual(expected);
});

test.each([
  // API key, as a message within
  ['1a'],
  // a field that nobody knows
  ['fa 01'],
])('a message whose field %s has 2^63 bytes cannot be read', (field) => {
  const { requestDeserialize } = serviceNamed('tollgate.v1.DecisionService')['Check']!;
  expect(() => requestDeserialize(reader(`${field} 80 80 80 80 80 80 80 80 80 01`) as unknown as Buffer)).toThrow(TOO_LARGE);
});
