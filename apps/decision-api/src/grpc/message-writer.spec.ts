import protobuf from 'protobufjs';
import { MessageWriter } from './message-writer.js';

test.each([0, 1, 127, 128, 16_383, 16_384, 70_000, 3_000_000])('a message within another one may be %d bytes long', (bytes) => {
  const text = 'é'.repeat(bytes / 2) + 'x'.repeat(bytes % 2);
  const writer = new MessageWriter();
  const start = writer.open(3);
  writer.text(1, text);
  writer.number(2, bytes);
  writer.close(start);
  writer.data(20, Buffer.from(text));
  const theirs = protobuf.Writer.create();
  theirs.uint32((3 << 3) | 2).fork();
  theirs.uint32((1 << 3) | 2).string(text);
  theirs.uint32(2 << 3).uint32(bytes);
  theirs.ldelim();
  theirs.uint32((20 << 3) | 2).bytes(Buffer.from(text));
  expect(Buffer.compare(writer.finish(), Buffer.from(theirs.finish()))).toBe(0);
});

test.each([0, 127, 128, 2 ** 31 - 1, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER])('the number %d is written', (value) => {
  const writer = new MessageWriter();
  writer.number(1, value);
  expect(writer.finish()).toEqual(Buffer.from(protobuf.Writer.create().uint32(8).uint64(value).finish()));
});

test.each([-1, NaN, Infinity, 2 ** 53])('%d is no number of an answer', (value) => {
  expect(() => new MessageWriter().number(1, value)).toThrow(RangeError);
});
