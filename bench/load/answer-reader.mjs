/** Finds the ends of HTTP/1.1 answers on a connection that has one request under way at a time. */

const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '0\r\n\r\n';

/**
 * @typedef {{ status: string, limited: boolean }} Answer `limited`: it has RateLimit headers, so a rule was asked
 */

export class AnswerReader {
  /** What came so far of an answer that is not complete. */
  #text = '';

  /**
   * @param {Buffer} buffer
   * @param {number} length
   * @returns {Answer | undefined} once the answer is complete
   */
  read(buffer, length) {
    // @ts-expect-error Node has it, its types do not.
    const text = this.#text + buffer.latin1Slice(0, length);
    const headEnd = text.indexOf(HEAD_END);
    if (headEnd === -1 || !isComplete(text, headEnd + HEAD_END.length)) {
      this.#text = text;
      return undefined;
    }
    this.#text = '';
    return { status: text.slice(9, 12), limited: text.includes('RateLimit') || text.includes('ratelimit') };
  }
}

/** @param {string} text @param {number} bodyStart */
function isComplete(text, bodyStart) {
  const at = headerAt(text, 'content-length: ', 'Content-Length: ');
  if (at !== -1 && at < bodyStart) return text.length >= bodyStart + Number.parseInt(text.slice(at, at + 12), 10);
  if (headerAt(text, 'transfer-encoding: ', 'Transfer-Encoding: ') !== -1) return text.endsWith(LAST_CHUNK);
  throw new Error(`an answer without a length:\n${text}`);
}

/** Servers write names in one of two ways, always the same one. @param {string} text @param {string} lower @param {string} capital */
function headerAt(text, lower, capital) {
  for (const name of [capital, lower]) {
    const at = text.indexOf(name);
    if (at !== -1) return at + name.length;
  }
  return -1;
}
