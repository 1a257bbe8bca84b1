/** A name and its value. */
export interface HeaderField {
  readonly name: string;
  readonly value: string;
}

/** RFC 7541, appendix A. */
const STATIC: readonly HeaderField[] = (
  ':authority|:method GET|:method POST|:path /|:path /index.html|:scheme http|:scheme https|:status 200|:status 204|:status 206|:status 304|:status 400|:status 404|:status 500|' +
  'accept-charset|accept-encoding gzip, deflate|accept-language|accept-ranges|accept|access-control-allow-origin|age|allow|authorization|cache-control|content-disposition|' +
  'content-encoding|content-language|content-length|content-location|content-range|content-type|cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|' +
  'if-range|if-unmodified-since|last-modified|link|location|max-forwards|proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after|server|set-cookie|' +
  'strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate'
)
  .split('|')
  .map((line) => {
    const space = line.indexOf(' ');
    return space === -1 ? { name: line, value: '' } : { name: line.slice(0, space), value: line.slice(space + 1) };
  });

/** What a field takes of a table beyond its characters: RFC 7541, 4.1. */
const FIELD_OVERHEAD_BYTES = 32;

/** The fields that a sender refers to by number: RFC 7541, 2.3. */
export class HeaderTable {
  /** The oldest first. */
  private readonly fields: HeaderField[] = [];
  private bytes = 0;

  constructor(private mostBytes: number) {}

  /** Undefined: there is none. */
  at(index: number): HeaderField | undefined {
    return index <= STATIC.length ? STATIC[index - 1] : this.fields[this.fields.length - (index - STATIC.length)];
  }

  add(field: HeaderField): void {
    this.bytes += sizeOf(field);
    this.fields.push(field);
    this.evict();
  }

  resize(mostBytes: number): void {
    this.mostBytes = mostBytes;
    this.evict();
  }

  private evict(): void {
    while (this.bytes > this.mostBytes) this.bytes -= sizeOf(this.fields.shift()!);
  }
}

export function sizeOf({ name, value }: HeaderField): number {
  return name.length + value.length + FIELD_OVERHEAD_BYTES;
}
