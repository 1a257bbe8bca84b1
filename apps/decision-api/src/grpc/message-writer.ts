const FIRST_BYTES = 4_096;
const MOST_KEPT_BYTES = 65_536;
/** Of a text in UTF-8, at most. */
const BYTES_OF_CHARACTER = 3;
/** Of a number, and of the tag of a field. */
const MOST_NUMBER_BYTES = 10;
const SMALL = 0x80;

/** Used again for each message: one is written after the other, each without a break. */
let scratch = Buffer.allocUnsafeSlow(FIRST_BYTES);

/** Writes a message of protobuf from its beginning to its end. Another one may begin when it is finished. */
export class MessageWriter {
  private bytes = scratch;
  private at = 0;

  /** @param value a whole number from 0 to 2^53 @throws RangeError */
  number(field: number, value: number): void {
    if (!(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) throw new RangeError(`field ${field} of an answer is ${value}`);
    this.demand(2 * MOST_NUMBER_BYTES);
    this.put(field << 3);
    this.put(value);
  }

  truth(field: number, value: boolean): void {
    this.number(field, value ? 1 : 0);
  }

  text(field: number, value: string): void {
    this.demand(2 * MOST_NUMBER_BYTES + BYTES_OF_CHARACTER * value.length);
    const start = this.open(field);
    this.at += this.bytes.write(value, this.at);
    this.close(start);
  }

  data(field: number, value: Uint8Array): void {
    this.demand(2 * MOST_NUMBER_BYTES + value.length);
    this.put((field << 3) | 2);
    this.put(value.length);
    this.bytes.set(value, this.at);
    this.at += value.length;
  }

  /** Begins a message within this one. Answers what `close` wants. */
  open(field: number): number {
    this.demand(2 * MOST_NUMBER_BYTES);
    this.put((field << 3) | 2);
    // Nearly all are so short that their length is one byte.
    return this.at++;
  }

  /** Ends what was begun last. */
  close(start: number): void {
    const length = this.at - start - 1;
    if (length < SMALL) {
      this.bytes[start] = length;
      return;
    }
    this.demand(MOST_NUMBER_BYTES);
    const more = numberBytes(length) - 1;
    this.bytes.copyWithin(start + 1 + more, start + 1, this.at);
    const end = this.at + more;
    this.at = start;
    this.put(length);
    this.at = end;
  }

  /** What was written. */
  finish(): Buffer {
    return Buffer.from(this.bytes.subarray(0, this.at));
  }

  private put(value: number): void {
    let rest = value;
    while (rest >= SMALL) {
      this.bytes[this.at++] = (rest % SMALL) | SMALL;
      rest = rest < 2 ** 31 ? rest >>> 7 : Math.floor(rest / SMALL);
    }
    this.bytes[this.at++] = rest;
  }

  private demand(bytes: number): void {
    if (this.at + bytes <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.at + bytes));
    larger.set(this.bytes.subarray(0, this.at));
    this.bytes = larger;
    if (larger.length <= MOST_KEPT_BYTES) scratch = larger;
  }
}

function numberBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= SMALL; rest = Math.floor(rest / SMALL)) bytes++;
  return bytes;
}
