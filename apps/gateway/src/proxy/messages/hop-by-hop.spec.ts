import { clientHeaders, upstreamHeaders } from './hop-by-hop.js';

const SOURCE = {
  rawHeaders: [] as string[],
  connectionOptions: null,
  trusted: true,
  peer: '192.0.2.7',
  host: 'api.example',
  requestId: 'r-1',
};

const ADDED = [
  ['X-Forwarded-For', '192.0.2.7'],
  ['X-Forwarded-Proto', 'http'],
  ['X-Forwarded-Host', 'api.example'],
  ['X-Request-Id', 'r-1'],
];

const pairs = (list: readonly string[]): string[][] => Array.from({ length: list.length / 2 }, (_, i) => list.slice(2 * i, 2 * i + 2));

describe('headers for the upstream', () => {
  const forward = (
    rawHeaders: string[],
    more: Partial<Omit<typeof SOURCE, 'connectionOptions'>> & { connectionOptions?: string[] } = {},
  ) => {
    const source = { ...SOURCE, ...more };
    return pairs(upstreamHeaders(rawHeaders, source, source, source.requestId));
  };

  it('pass in their order, spelling and number', () => {
    const sent = ['aCCept', '*/*', 'Cookie', 'a=1', 'Cookie', 'b=2', 'X-Thing', ''];
    expect(forward(sent)).toEqual([...pairs(sent), ...ADDED]);
  });

  it.each([
    'Connection',
    'Keep-Alive',
    'Proxy-Connection',
    'Proxy-Authenticate',
    'Proxy-Authorization',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'Upgrade',
    'HTTP2-Settings',
    'Expect',
    'Host',
    'Content-Length',
    'X-Request-Id',
  ])('do not include %s', (name) => {
    expect(forward([name, 'x', name.toLowerCase(), 'y'])).toEqual(ADDED);
  });

  it('ask for trailers as the client does, and for nothing else of TE', () => {
    expect(forward(['TE', 'gzip;q=0.5, trailers', 'te', 'trailers'])).toEqual([['TE', 'trailers'], ...ADDED]);
    expect(forward(['TE', 'gzip', 'te', 'xtrailers'])).toEqual(ADDED);
  });

  it('do not include what Connection names', () => {
    expect(forward(['X-Secret', '1', 'Accept', '*/*'], { connectionOptions: ['x-secret'] })).toEqual([['Accept', '*/*'], ...ADDED]);
  });

  it('keep the merchant and the forwarding headers whatever Connection names', () => {
    const sent = ['X-Merchant-Id', 'acme', 'X-Forwarded-Proto', 'https', 'X-Forwarded-Host', 'shop.example', 'X-Forwarded-For', '1.1.1.1'];
    const connectionOptions = ['x-merchant-id', 'x-forwarded-proto', 'x-forwarded-host', 'x-forwarded-for', 'x-request-id', 'host'];
    expect(forward(sent, { connectionOptions })).toEqual([
      ['X-Merchant-Id', 'acme'],
      ['X-Forwarded-Proto', 'https'],
      ['X-Forwarded-Host', 'shop.example'],
      ['X-Forwarded-For', '1.1.1.1, 192.0.2.7'],
      ['X-Request-Id', 'r-1'],
    ]);
  });

  it.each(['Bearer tgk_5f0c2a91be04_x', 'bearer  tgk_', 'BEARER TGK_x', 'Bearer\ttgk_x'])(
    'do not include an API key of ours like %s',
    (value) => {
      expect(forward(['Authorization', value])).toEqual(ADDED);
      expect(forward(['authorization', value], { trusted: false })).toEqual(ADDED);
    },
  );

  it.each(['Bearer eyJ.e30.x', 'Basic tgk_', 'Bearer xtgk_'])('include another Authorization like %s', (value) => {
    expect(forward(['Authorization', value])).toEqual([['Authorization', value], ...ADDED]);
    expect(forward(['Authorization', value], { connectionOptions: ['authorization'] })).toEqual(ADDED);
  });

  it('do not include the header for API keys, nor what CGI takes for it', () => {
    const sent = ['X-Api-Key', 'tgk_x', 'x_api-KEY', 'tgk_y', 'X-Api-Kex', 'kept'];
    const without = (header = '') => pairs(upstreamHeaders(sent, SOURCE, SOURCE, SOURCE.requestId, null, { header, bearer: false }));
    expect(without('x-api-key')).toEqual([['X-Api-Kex', 'kept'], ...ADDED]);
    expect(without()).toEqual([['X-Api-Key', 'tgk_x'], ['x_api-KEY', 'tgk_y'], ['X-Api-Kex', 'kept'], ...ADDED]);
  });

  it.each([
    ['Bearer eyJ.e30.x', []],
    ['bearer\tx', []],
    ['Bearer', []],
    ['Basic x', [['Authorization', 'Basic x']]],
    ['BearerX x', [['Authorization', 'BearerX x']]],
  ])('do not include %s, if bearer tokens are for the gateway', (value, expected) => {
    const secrets = { header: '', bearer: true };
    expect(pairs(upstreamHeaders(['Authorization', value], SOURCE, SOURCE, SOURCE.requestId, null, secrets))).toEqual([
      ...expected,
      ...ADDED,
    ]);
  });

  it('say who the caller is that was known by an API key, whatever the client says', () => {
    const sent = ['X-Merchant-Id', 'other', 'x-user-id', 'root', 'X_User_Id', 'root', 'X-User', 'kept', 'Authorization', 'Bearer tgk_x'];
    const by = (user: string | null) => pairs(upstreamHeaders(sent, SOURCE, SOURCE, SOURCE.requestId, { merchantId: 'Käse', user }));
    const merchant = ['X-Merchant-Id', 'K\xc3\xa4se'];
    expect(by(null)).toEqual([['X-User', 'kept'], ...ADDED, merchant]);
    expect(by('u1')).toEqual([['X-User', 'kept'], ...ADDED, merchant, ['X-User-Id', 'u1']]);
    expect(forward(['X-User-Id', 'u2', 'X_User_Id', 'root'])).toEqual([['X-User-Id', 'u2'], ...ADDED]);
  });

  it("continue a trusted peer's X-Forwarded-For, also over several headers", () => {
    expect(forward(['X-Forwarded-For', '1.1.1.1', 'x-forwarded-for', '2.2.2.2, 3.3.3.3'])[0]).toEqual([
      'X-Forwarded-For',
      '1.1.1.1, 2.2.2.2, 3.3.3.3, 192.0.2.7',
    ]);
  });

  it.each([
    'X-Forwarded-For',
    'X-Forwarded-Proto',
    'X-Forwarded-Host',
    'X-Forwarded-Port',
    'X-Forwarded-Prefix',
    'Forwarded',
    'X-Real-IP',
    'X-Merchant-Id',
    'X-User-Id',
    'X_User_Id',
    'Client-Cert',
    'Client-Cert-Chain',
    'Client_Cert',
    'X-Forwarded-Client-Cert',
  ])("do not include an untrusted peer's %s", (name) => {
    expect(forward([name, '1.1.1.1'], { trusted: false })).toEqual(ADDED);
  });

  describe.each([
    ['a trusted', true],
    ['an untrusted', false],
  ])('of %s peer', (_peer, trusted) => {
    it.each([
      'X_Merchant_Id',
      'x-merchant_id',
      'X_MERCHANT-ID',
      'x_forwarded_for',
      'X-Forwarded_Host',
      'X_Forwarded_Proto',
      'X_FORWARDED_ANYTHING',
      'X_Real_IP',
      'X_Request_Id',
      'Content_Length',
      'content_length',
      'Transfer_Encoding',
      'Keep_Alive',
      'Proxy_Connection',
      'Proxy_Authorization',
      'HTTP2_Settings',
      'RateLimit_Policy',
      'X_RateLimit_Limit',
      'Retry_After',
      'X_Original_URL',
      'X-Rewrite_URL',
    ])('do not include %s, which looks like a header that the gateway reads or sets', (name) => {
      expect(forward([name, 'x', 'Accept', '*/*'], { trusted })).toEqual([['Accept', '*/*'], ...ADDED]);
    });

    it.each(['X-Original-URL', 'x-rewrite-url', 'Proxy', 'X-Tollgate-Descriptor', 'x_tollgate-beside'])('do not include %s', (name) => {
      expect(forward([name, '/admin'], { trusted })).toEqual(ADDED);
    });

    it.each(['X_Thing', 'accept_language', '_', 'X_Merchant', 'XMerchant_Id', 'RateLimit', 'Retry-After'])('do include %s', (name) => {
      expect(forward([name, 'x'], { trusted })).toEqual([[name, 'x'], ...ADDED]);
    });
  });
});

describe('headers for the client', () => {
  const raw = (...list: string[]): Buffer[] => list.map((text) => Buffer.from(text, 'latin1'));
  const ID = ['X-Request-Id', 'r-1'];

  it('pass in their order, spelling and number, also beyond ASCII', () => {
    const sent = ['Set-Cookie', 'a=1', 'set-cookie', 'b=2', 'X-Name', 'caf\xe9', 'Content-Length', '12'];
    expect(clientHeaders(raw(...sent), 200, 'r-1', [])).toEqual({ headers: [...sent, ...ID], contentLength: 12 });
  });

  it.each([
    'Connection',
    'Keep-Alive',
    'Proxy-Connection',
    'Proxy-Authenticate',
    'Transfer-Encoding',
    'Upgrade',
    'Trailer',
    'X-Request-Id',
  ])('do not include %s', (name) => {
    expect(clientHeaders(raw(name, 'x'), 200, 'r-1', [])).toEqual({ headers: ID, contentLength: -1 });
  });

  it('do not include what Connection names, but always how long the body is', () => {
    const sent = raw('X-Internal', '1', 'Content-Length', '3', 'Connection', 'x-internal, content-length');
    expect(clientHeaders(sent, 200, 'r-1', []).headers).toEqual(['Content-Length', '3', ...ID]);
  });

  it('are replaced by added ones of the same name in any case', () => {
    const added = ['RateLimit', '"a";r=1', 'RateLimit-Policy', '"a";q=2'];
    const sent = raw('ratelimit', 'theirs', 'RATELIMIT', 'again', 'RateLimit-Limit', '9', 'Retry-After', '7');
    expect(clientHeaders(sent, 200, 'r-1', added).headers).toEqual(['RateLimit-Limit', '9', 'Retry-After', '7', ...added, ...ID]);
  });

  it.each([
    'Content_Length',
    'transfer_encoding',
    'X_Request_Id',
    'RateLimit_Policy',
    'ratelimit_limit',
    'X-RateLimit_Limit',
    'Retry_After',
  ])('do not include %s, which looks like a header that the gateway sets', (name) => {
    expect(clientHeaders(raw(name, '1', 'X_Thing', '2'), 200, 'r-1', []).headers).toEqual(['X_Thing', '2', ...ID]);
  });

  it('do not include a limit that Connection names', () => {
    expect(clientHeaders(raw('RateLimit', '1', 'Connection', 'ratelimit'), 200, 'r-1', []).headers).toEqual(ID);
  });

  it('have no Content-Length with a 204', () => {
    expect(clientHeaders(raw('Content-Length', '0'), 204, 'r-1', []).headers).toEqual(ID);
  });
});
