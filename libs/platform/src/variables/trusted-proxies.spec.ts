import { parseTrustedProxies } from './trusted-proxies.js';

describe('parseTrustedProxies', () => {
  it.each([
    ['127.0.0.1', ['127.0.0.1/32']],
    ['::1', ['::1/128']],
    ['10.0.0.0/8, 192.168.1.0/24', ['10.0.0.0/8', '192.168.1.0/24']],
    ['fd00::/8', ['fd00::/8']],
    ['172.16.0.0/12', ['172.16.0.0/12']],
    ['0.0.0.0/0', ['0.0.0.0/0']],
    ['none', []],
  ])('reads %s', (text, ranges) => expect(parseTrustedProxies(text)).toEqual(ranges));

  it.each([
    ['::ffff:10.0.0.0/8', /IPv4-mapped/],
    ['::ffff:10.0.0.1', /IPv4-mapped/],
    ['10.0.0.5/8', /write 10\.0\.0\.0\/8/],
    ['fd00::1/8', /bits beyond/],
    ['10.0.0.0/33', /at most 32/],
    ['::/129', /at most 128/],
    ['10.0.0.0/', /at most 32/],
    ['10.0.0.0/8/8', /separated by commas/],
    ['10.0.0.0/-1', /at most 32/],
    ['10', /separated by commas/],
    ['010.0.0.1', /separated by commas/],
    ['loopback', /separated by commas/],
    ['fe80::1%eth0', /separated by commas/],
    ['10.0.0.1,', /separated by commas/],
  ])('refuses %s', (text, why) => expect(() => parseTrustedProxies(text)).toThrow(why));
});
