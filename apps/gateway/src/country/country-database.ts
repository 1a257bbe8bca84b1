import { Reader, type Response } from 'mmdb-lib';

/** A database says which records it has by its type: GeoLite2-Country, GeoIP2-City, DBIP-Country-Lite, ipinfo standard_location. */
const HAS_COUNTRIES = /country|city|enterprise|location/i;
const COUNTRY = /^[A-Za-z]{2}$/;
/** Between the tree and the data. */
const SEPARATOR_BYTES = 16;
/** Parts of records that are kept decoded. A database of countries has some thousand of them. */
const MOST_DECODED = 20_000;

/** In which country an address is, by a file in MaxMind's format (MaxMind DB 2.0). */
export class CountryDatabase {
  private readonly reader: Reader<Response>;

  /** @throws Error that says why the bytes are no such database */
  constructor(bytes: Buffer) {
    this.reader = readerOf(bytes);
    const { binaryFormatMajorVersion: version, databaseType: type, ipVersion, searchTreeSize } = this.reader.metadata;
    if (version !== 2) throw new Error(`format ${String(version)} of MaxMind DB is not known, only 2`);
    if (typeof type !== 'string' || !HAS_COUNTRIES.test(type))
      throw new Error(`a database of countries is expected, and this is ${String(type)}`);
    if (ipVersion !== 4 && ipVersion !== 6) throw new Error('it is neither for IPv4 nor for IPv6');
    if (!(searchTreeSize > 0 && searchTreeSize + SEPARATOR_BYTES < bytes.length)) throw new Error('it has been cut off');
    if (!Number.isFinite(this.builtMs)) throw new Error('it does not say when it was made');
  }

  /** When it was made, as the file says. Milliseconds since 1970. */
  get builtMs(): number {
    return this.reader.metadata.buildEpoch.getTime();
  }

  /**
   * @param address in canonical text
   * @returns ISO 3166-1 alpha-2 in capitals; undefined if the database does not say
   * @throws Error if the database is broken where it says it
   */
  countryOf(address: string): string | undefined {
    // The tree of such a database begins with the bits of IPv4.
    if (address.includes(':') && this.reader.metadata.ipVersion === 4) return undefined;
    const code = codeIn(this.reader.get(address) as Readonly<Record<string, unknown>> | null);
    return typeof code === 'string' && COUNTRY.test(code) ? code.toUpperCase() : undefined;
  }
}

/** As MaxMind and those who follow it write it; or in a record without parts. */
function codeIn(record: Readonly<Record<string, unknown>> | null): unknown {
  if (typeof record !== 'object' || record === null) return undefined;
  const { country, country_code: code } = record;
  if (typeof country === 'object' && country !== null) return (country as { readonly iso_code?: unknown }).iso_code;
  return code ?? country;
}

function readerOf(bytes: Buffer): Reader<Response> {
  try {
    return new Reader<Response>(bytes, { cache: new DecodedParts() });
  } catch (cause) {
    // What the library says of bytes that are none is about their fields.
    throw new Error('it is no file in the format MaxMind DB, or has been cut off', { cause });
  }
}

/** Nearly all addresses lead to few records. */
class DecodedParts {
  private readonly parts = new Map<string | number, unknown>();

  get(key: string | number): unknown {
    return this.parts.get(key);
  }

  set(key: string | number, value: unknown): void {
    if (this.parts.size >= MOST_DECODED) this.parts.clear();
    this.parts.set(key, value);
  }
}
