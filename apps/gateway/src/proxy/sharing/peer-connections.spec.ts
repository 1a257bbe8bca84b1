import { PeerConnections } from './peer-connections.js';

function opened(peers: PeerConnections, names: string[], trusted = false): number {
  return names.filter((name) => peers.opened(name, trusted)).length;
}

const times = (count: number, name: string): string[] => Array<string>(count).fill(name);

test('a peer has its share of the free connections, and no more than the most', () => {
  expect(opened(new PeerConnections(100, 0.5, 1000), times(100, '192.0.2.1'))).toBe(33);
  expect(opened(new PeerConnections(100, 0.5, 10), times(100, '192.0.2.1'))).toBe(10);
});

test('the connections of a trusted proxy are not bounded, but leave less for peers', () => {
  const peers = new PeerConnections(100, 0.5, 1000);
  expect(opened(peers, times(90, '10.0.0.1'), true)).toBe(90);
  expect(opened(peers, times(100, '192.0.2.1'))).toBe(3);
});

test('a connection that closes makes room for another one', () => {
  const peers = new PeerConnections(100, 0.5, 1);
  for (let i = 0; i < 1000; i++) {
    expect(opened(peers, times(2, '192.0.2.1'))).toBe(1);
    peers.closed('192.0.2.1', false);
  }
});

test('the addresses of an IPv6 network are one peer', () => {
  const peers = new PeerConnections(100, 0.5, 2);
  expect(opened(peers, ['2001:db8::1', '2001:db8:0:0:1::2', '2001:db8::3', '2001:db8:0:1::1', 'fe80::1%eth0'])).toBe(4);
});
