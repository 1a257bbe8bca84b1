import { createTrust } from './trust.js';

describe('trust', () => {
  it.each([
    ['10.0.0.0/8', '10.1.2.3', true],
    ['10.0.0.0/8', '11.1.2.3', false],
    ['10.0.0.0/8', '::ffff:10.1.2.3', true],
    ['192.0.2.1', '192.0.2.1', true],
    ['192.0.2.1', '192.0.2.2', false],
    ['0.0.0.0/0', '192.0.2.1', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['::/0', '2001:db8::1', true],
    ['::/0', '192.0.2.1', false],
    ['::/0', '::ffff:192.0.2.1', false],
    ['::1/128', '::1', true],
    ['fe80::/10', 'fe80::1%eth0', true],
    ['::ffff:10.0.0.0/104', '10.1.2.3', true],
    ['::ffff:10.0.0.0/104', '192.0.2.1', false],
    ['::ffff:192.0.2.1', '192.0.2.1', true],
    ['::ffff:192.0.2.1', '192.0.2.2', false],
    ['10.0.0.0/8', 'localhost', false],
    ['10.0.0.0/8', '', false],
  ])('%s and the peer %s: %s', (range, address, expected) => {
    expect(createTrust([range])(address)).toBe(expected);
  });

  it.each(['::ffff:10.0.0.0/8', '::ffff:10.0.0.0/95', '10.0.0.0/33', '10.0.0/8', '10.0.0.0/', '10.0.0.0/8/8', 'x', ''])(
    'refuses the range "%s"',
    (range) => {
      expect(() => createTrust([range])).toThrow(`"${range}"`);
    },
  );
});
