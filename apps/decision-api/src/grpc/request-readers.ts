import { StrictReader } from './strict-reader.js';

/*
 * The messages that are asked most, read field by field. What is rarer in them is left to the reader of all messages: undefined says so. What comes out is what comes out there, which a test compares.
 */

const LENGTHED = 2;
const tag = (field: number, type: number): number => (field << 3) | type;

/** tollgate.v1.CheckRequest without API key, claims and body. @throws RangeError */
export function readCheckRequest(bytes: Buffer): object | undefined {
  const reader = new StrictReader(bytes);
  const message = emptyCheckRequest();
  while (reader.pos < reader.len) {
    switch (reader.uint32()) {
      case tag(1, LENGTHED):
        message.merchant = reader.string();
        break;
      case tag(2, LENGTHED):
        message.user = reader.string();
        break;
      case tag(4, LENGTHED):
        message.ip = reader.string();
        break;
      case tag(5, LENGTHED):
        message.country = reader.string();
        break;
      case tag(6, LENGTHED):
        message.method = reader.string();
        break;
      case tag(7, LENGTHED):
        message.path = reader.string();
        break;
      case tag(8, LENGTHED):
        message.host = reader.string();
        break;
      case tag(9, LENGTHED): {
        const header = readPair(reader);
        if (header === undefined) return undefined;
        message.headers.push({ name: header[0], value: header[1] });
        break;
      }
      case tag(12, 0):
        message.cost = reader.uint32();
        break;
      case tag(13, 0):
        message.wantClaim = reader.bool();
        break;
      default:
        return undefined;
    }
  }
  return message;
}

function emptyCheckRequest() {
  return {
    headers: [] as object[],
    merchant: '',
    user: '',
    apiKey: null,
    ip: '',
    country: '',
    method: '',
    path: '',
    host: '',
    jwt: null,
    body: null,
    wantClaim: false,
    cost: undefined as number | undefined,
  };
}

/** envoy.service.ratelimit.v3.RateLimitRequest without limits and hits of single descriptors. @throws RangeError */
export function readRateLimitRequest(bytes: Buffer): object | undefined {
  const reader = new StrictReader(bytes);
  const message = { descriptors: [] as object[], domain: '', hitsAddend: 0 };
  while (reader.pos < reader.len) {
    switch (reader.uint32()) {
      case tag(1, LENGTHED):
        message.domain = reader.string();
        break;
      case tag(2, LENGTHED): {
        const entries = readEntries(reader);
        if (entries === undefined) return undefined;
        message.descriptors.push({ entries, limit: null, hitsAddend: null });
        break;
      }
      case tag(3, 0):
        message.hitsAddend = reader.uint32();
        break;
      default:
        return undefined;
    }
  }
  return message;
}

function readEntries(reader: StrictReader): object[] | undefined {
  const end = endOfMessage(reader);
  const entries: object[] = [];
  while (reader.pos < end) {
    if (reader.uint32() !== tag(1, LENGTHED)) return undefined;
    const entry = readPair(reader);
    if (entry === undefined) return undefined;
    entries.push({ key: entry[0], value: entry[1] });
  }
  return reader.pos === end ? entries : undefined;
}

/** A message of two texts. */
function readPair(reader: StrictReader): readonly [string, string] | undefined {
  const end = endOfMessage(reader);
  let [first, second] = ['', ''];
  while (reader.pos < end) {
    switch (reader.uint32()) {
      case tag(1, LENGTHED):
        first = reader.string();
        break;
      case tag(2, LENGTHED):
        second = reader.string();
        break;
      default:
        return undefined;
    }
  }
  return reader.pos === end ? [first, second] : undefined;
}

/** Beyond the end of what there is, reading fails; a message that ends elsewhere is left to the reader of all messages. */
function endOfMessage(reader: StrictReader): number {
  return reader.uint32() + reader.pos;
}
