/** `:status 200` in the static table. */
const STATUS_200 = 0x88;
/** The name `:status` there; its value follows. */
const STATUS = 0x08;
const LONGEST_SHORT = 0x7f;

/** A block of headers for somebody who keeps no table for us: RFC 7541, 6.2.2. Names are in small letters, values one byte to a character. */
export function headerBlock(fields: Readonly<Record<string, string>>): Buffer {
  const pieces: Buffer[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (name === ':status' && value === '200') pieces.push(Buffer.of(STATUS_200));
    else if (name === ':status') pieces.push(Buffer.of(STATUS), text(value));
    else pieces.push(Buffer.of(0), text(name), text(value));
  }
  return Buffer.concat(pieces);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  return Buffer.concat([Buffer.from(lengthBytes(bytes.length)), bytes]);
}

function lengthBytes(length: number): number[] {
  if (length < LONGEST_SHORT) return [length];
  const bytes = [LONGEST_SHORT];
  let rest = length - LONGEST_SHORT;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return [...bytes, rest];
}
