import { translatedHead } from './http2-request.js';
import { PROBLEMS } from '../problems.js';

const LINE = [':method', 'GET', ':scheme', 'https', ':path', '/a', ':authority', 'x'];
const translate = (raw: readonly string[], endsWithHead = true) => translatedHead(raw, endsWithHead, 1_000);

describe('a request of HTTP/2 in the form of HTTP/1.1', () => {
  it('has a Host, and nothing that begins with a colon', () => {
    expect(translate([...LINE, 'x-a', '1', 'x-a', '2'])).toMatchObject({
      method: 'GET',
      target: '/a',
      rawHeaders: ['x-a', '1', 'x-a', '2', 'host', 'x'],
      problem: undefined,
    });
  });

  it('has one cookie of all crumbs', () => {
    expect(translate([...LINE, 'cookie', 'a=1', 'x-a', '1', 'cookie', 'b=2']).rawHeaders).toEqual([
      'x-a',
      '1',
      'cookie',
      'a=1; b=2',
      'host',
      'x',
    ]);
  });

  it.each([
    ['a body without a length', [], false, true],
    ['a body with a length', ['content-length', '3'], false, false],
    ['no body', [], true, false],
  ])('is chunked or not, with %s', (_case, more, endsWithHead, isChunked) => {
    expect(translate([...LINE, ...more], endsWithHead).rawHeaders.includes('transfer-encoding')).toBe(isChunked);
  });

  it.each([
    ['the same host twice', [...LINE, 'host', 'x'], undefined],
    ['a host alone', [...LINE.slice(0, 6), 'host', 'x'], undefined],
    ['two hosts that differ', [...LINE, 'host', 'y'], PROBLEMS.hostDiffers],
    ['two Host headers', [...LINE, 'host', 'x', 'host', 'x'], PROBLEMS.hostDuplicate],
    [
      'a scheme that is not that of the connection',
      [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'x'],
      PROBLEMS.scheme,
    ],
    ['CONNECT', [':method', 'CONNECT', ':authority', 'x:1'], PROBLEMS.connect],
    ['too many bytes', [...LINE, 'x-a', 'v'.repeat(1_000)], PROBLEMS.headersTooLarge],
  ])('%s', (_case, raw, problem) => {
    expect(translate(raw).problem).toBe(problem);
  });

  it('never has two Host headers', () => {
    const { rawHeaders } = translate([...LINE, 'host', 'x']);
    expect(rawHeaders.filter((name) => name === 'host')).toHaveLength(1);
  });

  it('tells what is expected, in lower case', () => {
    expect(translate([...LINE, 'expect', '100-Continue']).expectation).toBe('100-continue');
  });
});
