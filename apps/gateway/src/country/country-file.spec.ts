import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inCountry, mmdb } from '../../../../test/support/mmdb.js';
import { CountryDatabase } from './country-database.js';
import { CountryFile } from './country-file.js';

const NETWORKS = {
  '192.0.2.0/24': inCountry('NO'),
  '192.0.2.128/25': inCountry('se'),
  '198.51.100.0/24': { country_code: 'FI' },
  '203.0.113.0/24': { registered_country: { iso_code: 'DK' } },
  '203.0.113.128/25': inCountry('<x>'),
  '2001:db8::/32': inCountry('DE'),
};

describe('what a database says of an address', () => {
  const database = new CountryDatabase(mmdb(NETWORKS));

  it.each([
    ['a network', '192.0.2.7', 'NO'],
    ['a network within it, in small letters', '192.0.2.200', 'SE'],
    ['a record without parts', '198.51.100.1', 'FI'],
    ['an IPv6 network', '2001:db8:1:2::3', 'DE'],
    ['an address that it does not have', '8.8.8.8', undefined],
    ['an IPv6 address that it does not have', '2001:db9::1', undefined],
    ['a network that is only registered somewhere', '203.0.113.1', undefined],
    ['a code that is none', '203.0.113.200', undefined],
    ['what is no address', '', undefined],
  ])('%s', (_case, address, country) => {
    expect(database.countryOf(address)).toBe(country);
    // From what has been decoded.
    expect(database.countryOf(address)).toBe(country);
  });

  it('of IPv6 nothing is said by one that is for IPv4', () => {
    const ipv4 = new CountryDatabase(mmdb({ '0.0.0.0/1': inCountry('NO'), '32.0.0.0/8': inCountry('SE') }, { ipVersion: 4 }));
    expect(['1.2.3.4', '32.1.2.3', '2001:db8::1', '::1'].map((each) => ipv4.countryOf(each))).toEqual(['NO', 'SE', undefined, undefined]);
  });
});

const whole = mmdb(NETWORKS);

test.each<[string, Buffer, RegExp]>([
  ['nothing', Buffer.alloc(0), /no file in the format MaxMind DB/],
  ['a text', Buffer.from('network,country\n192.0.2.0/24,NO\n'), /no file in the format MaxMind DB/],
  ['one that lacks its end', whole.subarray(0, -20), /no file in the format MaxMind DB/],
  ['one that lacks its beginning', whole.subarray(-300), /has been cut off|no file in the format/],
  ['one of something else', mmdb(NETWORKS, { type: 'GeoLite2-ASN' }), /countries is expected, and this is GeoLite2-ASN/],
])('%s is no database of countries', (_case, bytes, reason) => {
  expect(() => new CountryDatabase(bytes)).toThrow(reason);
});

describe('a file of countries', () => {
  let folder: string;
  let path: string;
  let said: string[];
  let file: CountryFile;
  const NOW_MS = 1_700_000_600_000;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-country-'));
    path = join(folder, 'countries.mmdb');
    said = [];
    const note = (fields: object, message?: string) => said.push(`${message}: ${(fields as { reason?: string }).reason ?? 'fine'}`);
    file = new CountryFile({ path, logger: { info: note, warn: note } as never, nowMs: () => NOW_MS });
  });
  afterEach(() => {
    file.close();
    rmSync(folder, { recursive: true });
  });

  const replace = (bytes: Buffer) => {
    writeFileSync(`${path}.new`, bytes);
    renameSync(`${path}.new`, path);
  };
  const why = (): string => {
    try {
      file.assertUsable();
      return 'usable';
    } catch (error) {
      return (error as Error).message;
    }
  };

  it('is read when the gateway starts, and again when it has changed', async () => {
    replace(whole);
    await file.open();
    expect([file.countryOf('192.0.2.7'), why(), file.ageSeconds]).toEqual(['NO', 'usable', 600]);
    await file.look();
    expect(file.counts.read).toBe(1);
    replace(mmdb({ '192.0.2.0/24': inCountry('FR') }, { builtAt: NOW_MS / 1000 - 60 }));
    await file.look();
    expect([file.countryOf('192.0.2.7'), file.ageSeconds, file.counts]).toEqual(['FR', 60, { read: 2, failed: 0, broken_record: 0 }]);
  });

  it('that is not there leaves no country known, says so once, and is read when it comes', async () => {
    await file.look();
    await file.look();
    expect([file.countryOf('192.0.2.7'), file.ageSeconds, file.counts.failed]).toEqual([undefined, 0, 2]);
    expect(why()).toMatch(/ENOENT.*; no country is known/);
    expect(said).toEqual([expect.stringMatching(/no country is known: ENOENT/)]);
    replace(whole);
    await file.look();
    expect([file.countryOf('192.0.2.7'), why()]).toEqual(['NO', 'usable']);
  });

  it.each<[string, () => void, RegExp]>([
    ['missing', () => rmSync(path), /ENOENT/],
    ['half written', () => writeFileSync(path, whole.subarray(0, whole.length / 2)), /no file in the format/],
    ['of something else', () => replace(mmdb(NETWORKS, { type: 'GeoLite2-ASN' })), /GeoLite2-ASN/],
  ])('that is %s leaves what was read before, says so once, and is read when it is good again', async (_case, spoil, reason) => {
    replace(whole);
    await file.look();
    spoil();
    await file.look();
    await file.look();
    expect(file.countryOf('192.0.2.7')).toBe('NO');
    expect(why()).toMatch(reason);
    expect(why()).toMatch(/an older one is used$/);
    expect(said.slice(1)).toEqual([expect.stringMatching(/the one that was read before is used: /)]);
    replace(whole);
    await file.look();
    expect([file.countryOf('192.0.2.7'), why(), file.counts.read]).toEqual(['NO', 'usable', 2]);
  });

  it('that is broken where an address is looked up makes the country unknown, and nothing else', async () => {
    // The first record begins behind the tree and its separator; 0xff is no type there.
    const broken = Buffer.from(whole);
    broken.fill(0xff, broken.indexOf(Buffer.alloc(16)) + 16, broken.indexOf('MaxMind.com') - 3);
    replace(broken);
    await file.look();
    expect([file.countryOf('192.0.2.7'), file.countryOf('8.8.8.8'), file.counts.broken_record]).toEqual([undefined, undefined, 1]);
    expect(why()).toMatch(/it is broken/);
    await file.look();
    expect(why()).toMatch(/it is broken/);
  });

  it('that is a folder is not read', async () => {
    const other = new CountryFile({ path: folder, logger: { info: () => {}, warn: () => {} } as never });
    await other.look();
    expect(() => other.assertUsable()).toThrow(/it is no file|EISDIR/);
  });
});
