import { IncomingMessage } from 'node:http';

const NO_HEADERS: NodeJS.Dict<string> = Object.freeze({});

/**
 * A request without the object of headers that node would build for each one: the proxy reads `rawHeaders`. Of
 * `headers`, node's server itself only asks for `expect`.
 */
export class LeanRequest extends IncomingMessage {
  // Node declares it as a property, but defines it as an accessor on the prototype, as this does.
  // @ts-expect-error TS2611
  override get headers(): NodeJS.Dict<string> {
    const { rawHeaders } = this;
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = rawHeaders[i]!;
      if (name.length === 6 && name.toLowerCase() === 'expect') return { expect: rawHeaders[i + 1]! };
    }
    return NO_HEADERS;
  }
}
