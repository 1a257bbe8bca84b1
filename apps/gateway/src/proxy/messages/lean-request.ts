import { IncomingMessage } from 'node:http';
import { isWebSocketHandshake } from '../web-sockets/web-socket-handshake.js';

const NO_HEADERS: NodeJS.Dict<string> = Object.freeze({});

/**
 * A request without the object of headers that node would build for each one: the proxy reads `rawHeaders`. Of
 * `headers`, node's server itself only asks for `expect`.
 */
export class LeanRequest extends IncomingMessage {
  /** Set by node: first what its parser says, then what it makes of that. */
  declare private asksForUpgrade: boolean | null;

  /**
   * Whether what follows on the connection is another protocol. Where node's server has a listener for upgrades, it lets go of the socket for all that
   * is one, offers of h2c included; asked in this way, for what the gateway can pass on and for CONNECT alone.
   */
  get upgrade(): boolean {
    return this.asksForUpgrade === true && (this.method === 'CONNECT' || isWebSocketHandshake(this));
  }

  set upgrade(asks: boolean | null) {
    this.asksForUpgrade = asks;
  }

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
