import { CompressionError, HeaderDecoder } from './header-decoder.js';

const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const read = (decoder: HeaderDecoder, hex: string): string[] | undefined =>
  decoder.decode(bytes(hex))?.map(({ name, value }) => `${name}: ${value}`);

describe('reads the examples of RFC 7541', () => {
  const FIRST = [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com'];
  const SECOND = [...FIRST, 'cache-control: no-cache'];
  const THIRD = [':method: GET', ':scheme: https', ':path: /index.html', ':authority: www.example.com', 'custom-key: custom-value'];

  it.each([
    ['C.2.1, with a table', ['400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572'], [['custom-key: custom-header']]],
    ['C.2.2, without', ['040c 2f73 616d 706c 652f 7061 7468'], [[':path: /sample/path']]],
    ['C.2.3, never in one', ['1008 7061 7373 776f 7264 0673 6563 7265 74'], [['password: secret']]],
    [
      'C.3, three requests',
      [
        '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
        '8286 84be 5808 6e6f 2d63 6163 6865',
        '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
      ],
      [FIRST, SECOND, THIRD],
    ],
    [
      'C.4, the same with Huffman codes',
      [
        '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
        '8286 84be 5886 a8eb 1064 9cbf',
        '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
      ],
      [FIRST, SECOND, THIRD],
    ],
  ])('%s', (_, blocks, expected) => {
    const decoder = new HeaderDecoder(1_000);
    expect(blocks.map((block) => read(decoder, block))).toEqual(expected);
  });

  it('C.6, answers in a small table that forgets', () => {
    const decoder = new HeaderDecoder(1_000);
    const date = 'date: Mon, 21 Oct 2013 20:13:21 GMT';
    const location = 'location: https://www.example.com';
    // The table of the example has 256 bytes, which stands before the first block.
    expect(
      read(
        decoder,
        '3fe101 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3',
      ),
    ).toEqual([':status: 302', 'cache-control: private', date, location]);
    expect(read(decoder, '4883 640e ffc1 c0bf')).toEqual([':status: 307', 'cache-control: private', date, location]);
    // ":status: 302" has been forgotten.
    expect(() => read(decoder, 'c2')).toThrow(CompressionError);
  });
});

it.each([
  ['a field of no table', 'be'],
  ['the field 0', '80'],
  ['a name of no table', '7f00 0161'],
  ['a text longer than its block', '0005 61'],
  ['a block that ends in a number', '0f'],
  ['a number without an end', '0fff ffff ffff ffff ff01'],
  ['the code for the end of a text', '0084 ffff ffff 0161'],
  ['padding of eight bits', '0082 1fff 0161'],
  ['padding that is no ones', '0081 18 0161'],
  ['a table larger than is allowed', '3fe2 1f'],
  ['a table that is resized behind a field', '8220'],
])('%s is an error', (_, hex) => {
  expect(() => read(new HeaderDecoder(1_000), hex)).toThrow(CompressionError);
});

it('reads a block with more fields than are allowed to its end, and keeps none of them', () => {
  const decoder = new HeaderDecoder(100);
  const kept = '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572';
  expect(read(decoder, `${kept} be be be`)).toBeUndefined();
  expect(read(decoder, 'be')).toEqual(['custom-key: custom-header']);
});

it('counts what changes the meaning of bytes', () => {
  const decoder = new HeaderDecoder(1_000);
  read(decoder, '82');
  expect(decoder.changes).toBe(0);
  read(decoder, '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572');
  expect(decoder.changes).toBe(1);
  read(decoder, '20');
  expect(decoder.changes).toBe(2);
});
