/** Cases that once failed, as small as they did. Every run begins with them. */

/** @type {readonly import('./grammar.mjs').Case[]} */
export const KEPT = [];
