/**
 * Bytes of what a store must keep for one key: eight a number, one a character. What a language or a store adds for objects,
 * keys and pointers is left out: it differs between them, and the payload does not.
 */
export function stateBytes(state: unknown): number {
  switch (typeof state) {
    case 'number':
    case 'bigint':
      return 8;
    case 'string':
      return state.length;
    case 'boolean':
      return 1;
    case 'object':
      return state === null ? 0 : Object.values(state).reduce<number>((sum, value) => sum + stateBytes(value), 0);
    default:
      return 0;
  }
}
