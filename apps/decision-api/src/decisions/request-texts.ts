/** What the texts are that proxies send of a request. */
export const METHOD = /^[A-Z][A-Z-]{0,31}$/;
/** Path and query as clients send them. */
export const TARGET = /^\/[\x21-\x7e]{0,8191}$/;
export const HOST = /^[\x21-\x7e]{1,255}$/;
/** Methods whose requests have no body unless something says so. */
export const WITHOUT_BODY: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];
