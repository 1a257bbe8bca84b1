/** Writes small databases in the format of MaxMind DB 2.0 (https://maxmind.github.io/MaxMind-DB/), as an operator's file of countries. */
import ipaddr from 'ipaddr.js';

export interface MmdbOptions {
  readonly type?: string;
  /** Seconds since 1970. */
  readonly builtAt?: number;
  readonly ipVersion?: 4 | 6;
}

type Value = string | Whole | readonly Value[] | { readonly [name: string]: Value };

/** A whole number, and as what it is written: uint16, uint32 or uint64. */
class Whole {
  constructor(
    readonly value: number,
    readonly bytes: 2 | 4 | 8,
  ) {}
}

/** What a database of countries says of a network. */
export const inCountry = (code: string): Value => ({ country: { iso_code: code, names: { en: `the country ${code}` } } });

const MARKER = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');

/** @param networks what is said of each; later ones are laid over earlier ones */
export function mmdb(
  networks: Readonly<Record<string, Value>>,
  { type = 'Test-Country', builtAt = 1_700_000_000, ipVersion = 6 }: MmdbOptions = {},
): Buffer {
  const tree = new Tree();
  const records: Buffer[] = [];
  let length = 0;
  for (const [network, value] of Object.entries(networks)) {
    tree.put(bitsOf(network, ipVersion), length);
    records.push(encoded(value));
    length += records.at(-1)!.length;
  }
  const metadata: Value = {
    binary_format_major_version: new Whole(2, 2),
    binary_format_minor_version: new Whole(0, 2),
    build_epoch: new Whole(builtAt, 8),
    database_type: type,
    description: { en: 'a test' },
    ip_version: new Whole(ipVersion, 2),
    languages: ['en'],
    node_count: new Whole(tree.nodes.length, 4),
    record_size: new Whole(24, 2),
  };
  return Buffer.concat([tree.bytes(), Buffer.alloc(16), ...records, MARKER, encoded(metadata)]);
}

/** A leaf: where its record begins in the data. */
class Leaf {
  constructor(readonly at: number) {}
}
type Side = number | Leaf | undefined;

class Tree {
  readonly nodes: [Side, Side][] = [[undefined, undefined]];

  put(bits: readonly number[], at: number): void {
    let node = 0;
    for (const [i, bit] of bits.entries()) {
      if (i === bits.length - 1) {
        this.nodes[node]![bit] = new Leaf(at);
        return;
      }
      node = this.below(node, bit);
    }
  }

  bytes(): Buffer {
    const all = Buffer.alloc(this.nodes.length * 6);
    for (const [i, sides] of this.nodes.entries())
      for (const [bit, side] of sides.entries()) {
        const none = this.nodes.length;
        const value = side === undefined ? none : side instanceof Leaf ? none + 16 + side.at : side;
        all.writeUIntBE(value, i * 6 + bit * 3, 3);
      }
    return all;
  }

  /** The node on this side; what was said of the whole is said of both of its halves. */
  private below(node: number, bit: number): number {
    const side = this.nodes[node]![bit];
    if (typeof side === 'number') return side;
    this.nodes.push([side, side]);
    return (this.nodes[node]![bit] = this.nodes.length - 1);
  }
}

function bitsOf(network: string, ipVersion: 4 | 6): number[] {
  const [address, prefix] = ipaddr.parseCIDR(network);
  const isIpv4 = address.kind() === 'ipv4';
  const bytes = [...(isIpv4 && ipVersion === 6 ? Array<number>(12).fill(0) : []), ...address.toByteArray()];
  const length = prefix + (isIpv4 && ipVersion === 6 ? 96 : 0);
  return bytes.flatMap((byte) => Array.from({ length: 8 }, (_, i) => (byte >> (7 - i)) & 1)).slice(0, length);
}

function encoded(value: Value): Buffer {
  if (typeof value === 'string') {
    const bytes = Buffer.from(value);
    return Buffer.concat([control(2, bytes.length), bytes]);
  }
  if (value instanceof Whole) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(BigInt(value.value));
    return Buffer.concat([control(value.bytes === 2 ? 5 : value.bytes === 4 ? 6 : 9, value.bytes), bytes.subarray(8 - value.bytes)]);
  }
  if (isList(value)) return Buffer.concat([control(11, value.length), ...value.map(encoded)]);
  const entries = Object.entries(value);
  return Buffer.concat([control(7, entries.length), ...entries.flatMap(([name, each]) => [encoded(name), encoded(each)])]);
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

/** Type and size; types above 7 stand in a byte of their own. */
function control(type: number, size: number): Buffer {
  if (size >= 29 + 256) throw new Error('a test needs nothing that long');
  const short = Math.min(size, 29);
  return Buffer.from([(type > 7 ? 0 : type << 5) | short, ...(type > 7 ? [type - 7] : []), ...(size >= 29 ? [size - 29] : [])]);
}
