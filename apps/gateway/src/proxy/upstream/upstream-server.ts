/** A server, and how it is spoken to. */
export interface UpstreamServer {
  readonly url: URL;
  /** HTTP/2 without TLS, by prior knowledge: there is no other way to find out (RFC 9113, 3.3). */
  readonly http2: boolean;
}

const H2C = /^h2c:/;

/** What an address means: http://, https://, or h2c:// for HTTP/2 without TLS, whose ports are those of http. */
export function serverAt(address: string): UpstreamServer {
  return { url: new URL(address.replace(H2C, 'http:')), http2: H2C.test(address) };
}
