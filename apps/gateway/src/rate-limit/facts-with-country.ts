import type { BodyFacts, RequestFacts } from '#limiter';

const COUNTRY = /^[A-Za-z]{2}$/;

/** The facts of a request whose peer may say in which country the client is. */
export class FactsWithCountry implements RequestFacts {
  constructor(
    private readonly request: RequestFacts,
    private readonly header: string,
  ) {}

  get hostName(): string | undefined {
    return this.request.hostName;
  }

  /** Two answers are none, as is a text that is no country. */
  get country(): string | undefined {
    const [country = '', ...more] = this.headerValues(this.header);
    return more.length === 0 && COUNTRY.test(country) ? country.toUpperCase() : undefined;
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
}
