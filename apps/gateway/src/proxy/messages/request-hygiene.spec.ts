import { PROBLEMS } from '../problems.js';
import { CHUNKED, inspectHead } from './request-hygiene.js';

const HOST = ['Host', 'api.example'];

const inspect = (target: string, ...rawHeaders: string[]) => inspectHead(target, '1.1', rawHeaders, '');

describe('what is refused', () => {
  it.each([
    ['no Host', '/', [], PROBLEMS.hostMissing],
    ['an empty Host', '/', ['Host', ''], PROBLEMS.hostMissing],
    ['two Hosts', '/', [...HOST, 'host', 'other.example'], PROBLEMS.hostDuplicate],
    ['two equal Hosts', '/', [...HOST, ...HOST], PROBLEMS.hostDuplicate],
    ['a Host with a path', '/', ['Host', 'api.example/x'], PROBLEMS.hostInvalid],
    ['a Host with a user', '/', ['Host', 'a@api.example'], PROBLEMS.hostInvalid],
    ['a Host with a list', '/', ['Host', 'a b'], PROBLEMS.hostInvalid],
    ['a Host with a wrong port', '/', ['Host', 'api.example:80x'], PROBLEMS.hostInvalid],
    ['an open bracket', '/', ['Host', '[::1'], PROBLEMS.hostInvalid],
    ['another transfer coding', '/', [...HOST, 'Transfer-Encoding', 'gzip, chunked'], PROBLEMS.transferEncoding],
    ['a transfer coding with parameters', '/', [...HOST, 'Transfer-Encoding', 'chunked;q=1'], PROBLEMS.transferEncoding],
    ['chunked twice', '/', [...HOST, 'Transfer-Encoding', 'chunked', 'transfer-encoding', 'chunked'], PROBLEMS.transferEncoding],
    ['two framings', '/', [...HOST, 'Content-Length', '5', 'Transfer-Encoding', 'chunked'], PROBLEMS.framingAmbiguous],
    ['an absolute target', 'http://api.example/', HOST, PROBLEMS.targetForm],
    ['an authority as target', 'api.example:443', HOST, PROBLEMS.targetForm],
    ['an empty target', '', HOST, PROBLEMS.targetForm],
    ['the asterisk', '*', HOST, PROBLEMS.asterisk],
    ['websocket', '/', [...HOST, 'Connection', 'Upgrade', 'Upgrade', 'websocket'], PROBLEMS.upgrade],
    ['websocket beside h2c', '/', [...HOST, 'Connection', 'upgrade', 'Upgrade', 'h2c', 'Upgrade', 'websocket'], PROBLEMS.upgrade],
    ['too many connection options', '/', [...HOST, 'Connection', 'a,'.repeat(33)], PROBLEMS.connectionOptions],
    ['too many in two headers', '/', [...HOST, 'Connection', 'a,'.repeat(20), 'Connection', 'b,'.repeat(20)], PROBLEMS.connectionOptions],
  ])('%s', (_case, target, rawHeaders, problem) => {
    expect(inspect(target, ...rawHeaders).problem).toBe(problem);
  });

  it.each(['2.0', '0.9'])('HTTP/%s', (version) => {
    expect(inspectHead('/', version, HOST, '').problem).toBe(PROBLEMS.httpVersion);
  });

  it('HTTP/1.0 with a Transfer-Encoding', () => {
    expect(inspectHead('/', '1.0', ['Transfer-Encoding', 'chunked'], '').problem).toBe(PROBLEMS.transferEncodingInHttp10);
  });
});

describe('what is understood', () => {
  it.each([
    ['a path with a query', '/a/b?c=d%20e', HOST],
    ['two slashes, which are for the path policy', '//a', HOST],
    ['a Transfer_Encoding beside a length, which is not forwarded', '/', [...HOST, 'Content-Length', '0', 'Transfer_Encoding', 'chunked']],
    ['a port', '/', ['Host', 'api.example:8080']],
    ['an IPv6 host', '/', ['Host', '[::1]:8080']],
    ['an offer of h2c', '/', [...HOST, 'Connection', 'Upgrade, HTTP2-Settings', 'Upgrade', 'h2c']],
    ['an Upgrade that Connection does not announce', '/', [...HOST, 'Upgrade', 'websocket']],
  ])('%s', (_case, target, rawHeaders) => {
    expect(inspect(target, ...rawHeaders).problem).toBeNull();
  });

  it('HTTP/1.0 without a Host', () => {
    expect(inspectHead('/', '1.0', [], '')).toMatchObject({ problem: null, host: '' });
  });

  it.each([
    [[], 0],
    [['Content-Length', '0'], 0],
    [['content-length', '42'], 42],
    [['Transfer-Encoding', 'Chunked'], CHUNKED],
  ])('the body length of %j', (rawHeaders, bodyLength) => {
    expect(inspect('/', ...HOST, ...rawHeaders).bodyLength).toBe(bodyLength);
  });

  it.each([
    [['X-Request-Id', 'a-B_1.2'], 'a-B_1.2'],
    [['X-Request-Id', 'x'.repeat(64)], 'x'.repeat(64)],
    [['X-Request-Id', 'x'.repeat(65)], undefined],
    [['X-Request-Id', ''], undefined],
    [['X-Request-Id', 'a b'], undefined],
    [['X-Request-Id', 'a', 'x-request-id', 'b'], undefined],
    [[], undefined],
  ])('the request id of %j', (rawHeaders, requestId) => {
    expect(inspect('/', ...HOST, ...rawHeaders).requestId).toBe(requestId);
  });

  it('connection options, without those that name no header', () => {
    expect(inspect('/', ...HOST, 'Connection', 'close, X-One,,keep-alive', 'connection', 'X-TWO').connectionOptions).toEqual([
      'x-one',
      'x-two',
    ]);
    expect(inspect('/', ...HOST, 'Connection', 'Keep-Alive').connectionOptions).toBeNull();
  });
});
