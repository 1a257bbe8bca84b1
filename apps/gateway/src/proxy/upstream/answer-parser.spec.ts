import { type AnswerListener, AnswerParser } from './answer-parser.js';

/** Everything that a parser tells, with the pieces of a body put together. */
class Recorder implements AnswerListener {
  readonly told: string[] = [];
  isHead = false;
  wants = true;

  answerBegins(): void {
    this.told.push('begins');
  }

  headRead({ status, rawHeaders, isUpgrade, keepsAlive }: Parameters<AnswerListener['headRead']>[0]): boolean {
    this.told.push(`${status} ${rawHeaders.join('|')}${isUpgrade ? ' upgrade' : ''}${keepsAlive ? '' : ' last'}`);
    return !this.isHead && status >= 200;
  }

  bodyRead(chunk: Buffer): boolean {
    const last = this.told.at(-1)!;
    if (last.startsWith('body ')) this.told[this.told.length - 1] = last + chunk.toString();
    else this.told.push(`body ${chunk.toString()}`);
    return this.wants;
  }

  answerEnds(trailers: Buffer[]): void {
    this.told.push(`ends ${trailers.join('|')}`);
  }
}

function readIn(pieces: readonly string[], { isHead = false, isEnded = false } = {}): string[] {
  const recorder = new Recorder();
  recorder.isHead = isHead;
  const parser = new AnswerParser(recorder);
  try {
    for (const piece of pieces) parser.read(Buffer.from(piece, 'latin1'));
    if (isEnded) parser.finish();
  } catch (error) {
    recorder.told.push((error as Error).name);
  }
  parser.free();
  return recorder.told;
}

const OK = 'HTTP/1.1 200 OK\r\n';

test.each([
  ['a length', `${OK}A: b\r\nContent-Length: 2\r\n\r\nhi`, {}, ['begins', '200 A|b|Content-Length|2', 'body hi', 'ends ']],
  ['an empty value', `${OK}A:\r\nContent-Length: 0\r\n\r\n`, {}, ['begins', '200 A||Content-Length|0', 'ends ']],
  [
    'chunks and trailers',
    `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n1\r\n!\r\n0\r\nX-T: u\r\n\r\n`,
    {},
    ['begins', '200 Transfer-Encoding|chunked', 'body hi!', 'ends X-T|u'],
  ],
  ['an end without a length', `${OK}\r\nhi`, { isEnded: true }, ['begins', '200  last', 'body hi', 'ends ']],
  ['HEAD', `${OK}Content-Length: 5\r\n\r\n`, { isHead: true }, ['begins', '200 Content-Length|5', 'ends ']],
  [
    'interim answers before it',
    `HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${OK}Content-Length: 0\r\n\r\n`,
    {},
    ['begins', '103 Link|x', 'ends ', 'begins', '200 Content-Length|0', 'ends '],
  ],
  ['another protocol', 'HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx', {}, ['begins', '200 Content-Length|1 last', 'body x', 'ends ']],
  ['two lengths', `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, {}, ['begins', 'HTTPParserError']],
  [
    'half of it, and the end',
    `${OK}Content-Length: 5\r\n\r\nhi`,
    { isEnded: true },
    ['begins', '200 Content-Length|5', 'body hi', 'HTTPParserError'],
  ],
])('an answer with %s is read the same wherever it is split', (_what, text, options, told) => {
  expect(readIn([text], options)).toEqual(told);
  for (let at = 1; at < text.length; at++) {
    expect(readIn([text.slice(0, at), text.slice(at)], options)).toEqual(told);
  }
  expect(readIn([...text], options)).toEqual(told);
});

test('headers beyond the bound are no answer', () => {
  expect(readIn([OK, `A: ${'x'.repeat(20_000)}\r\n`])).toEqual(['begins', 'HeadersOverflowError']);
  expect(readIn([OK, ...Array.from({ length: 300 }, () => `A: ${'x'.repeat(60)}\r\n`)])).toEqual(['begins', 'HeadersOverflowError']);
});

test('a listener that wants no more gets the rest when it wants it, once', () => {
  const recorder = new Recorder();
  const parser = new AnswerParser(recorder);
  recorder.wants = false;
  const rest = parser.read(Buffer.from(`${OK}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n`));
  expect([recorder.told.at(-1), rest?.toString()]).toEqual(['body a', '\r\n1\r\nb\r\n0\r\n\r\n']);
  recorder.wants = true;
  expect(parser.readOn(rest!)).toBeUndefined();
  expect(recorder.told.slice(2)).toEqual(['body ab', 'ends ']);
  parser.free();
});

test('what a listener throws comes out, and two parsers do not disturb each other', () => {
  const [one, other] = [new Recorder(), new Recorder()];
  const [broken, well] = [new AnswerParser(one), new AnswerParser(other)];
  one.headRead = () => {
    throw new Error('not wanted');
  };
  well.read(Buffer.from(OK));
  expect(() => broken.read(Buffer.from(`${OK}Content-Length: 1\r\n\r\na`))).toThrow('not wanted');
  well.read(Buffer.from('Content-Length: 1\r\n\r\na'));
  expect(other.told).toEqual(['begins', '200 Content-Length|1', 'body a', 'ends ']);
  broken.free();
  well.free();
});
