import type { AddressInfo } from 'node:net';
import { listeningUrl } from './listening-url.js';

const listeningOn = (address: string, family: string): AddressInfo => ({ address, family, port: 3000 });

describe('the URL of a server that listens', () => {
  it.each([
    ['an address of version 4', listeningOn('127.0.0.1', 'IPv4'), 'http://127.0.0.1:3000'],
    ['an address of version 6, which stands in brackets', listeningOn('::1', 'IPv6'), 'http://[::1]:3000'],
    ['all addresses of version 4, to which nobody can send', listeningOn('0.0.0.0', 'IPv4'), 'http://localhost:3000'],
    ['all addresses', listeningOn('::', 'IPv6'), 'http://localhost:3000'],
    ['nothing yet', null, '/'],
    ['a socket file', '/run/tollgate.sock', '/'],
  ])('is right for one on %s', (_what, address, url) => expect(listeningUrl({ address: () => address })).toBe(url));
});
