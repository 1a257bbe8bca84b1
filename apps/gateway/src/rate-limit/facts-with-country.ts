import type { BodyFacts, RequestFacts } from '#limiter';

const COUNTRY = /^[A-Za-z]{2}$/;

/** In which country an address is, in capitals; undefined if nobody can say. @param address in canonical text */
export type CountryOf = (address: string) => string | undefined;

/** Where to find out in which country a client is. */
export interface CountrySources {
  /** The header in which trusted peers say it, in lower case; empty: they do not. It is looked at first. */
  readonly header: string;
  readonly countryOf?: CountryOf | undefined;
}

/** The facts of a request of which it can be said in which country the client is. It is found out only where a rule looks at it. */
export class FactsWithCountry implements RequestFacts {
  constructor(
    private readonly request: RequestFacts,
    private readonly ip: string,
    private readonly sources: CountrySources,
  ) {}

  get hostName(): string | undefined {
    return this.request.hostName;
  }

  get country(): string | undefined {
    const { header, countryOf } = this.sources;
    return (header === '' ? undefined : this.countryIn(header)) ?? countryOf?.(this.ip);
  }

  get body(): BodyFacts | undefined {
    return this.request.body;
  }

  get readBody(): RequestFacts['readBody'] {
    const { request } = this;
    return request.readBody === undefined ? undefined : (done) => request.readBody!(done);
  }

  headerValues(name: string): readonly string[] {
    return this.request.headerValues(name);
  }

  /** Two answers are none, as is a text that is no country. */
  private countryIn(header: string): string | undefined {
    const [country = '', ...more] = this.headerValues(header);
    return more.length === 0 && COUNTRY.test(country) ? country.toUpperCase() : undefined;
  }
}
