/** What is known of a merchant's API key. The key itself is known nowhere. */
export interface KnownApiKey {
  /** What rules see of it. */
  readonly apiKey: { readonly id: string; readonly labels: Readonly<Record<string, string>> };
  readonly prefix: string;
  readonly hash: Buffer;
  readonly merchantId: string;
  /** The user of the merchant that sends with it; null: none in particular. */
  readonly user: string | null;
  /** Milliseconds since 1970 from which on it is void; Infinity: never. */
  readonly untilMs: number;
  /** By which whoever compares texts with it knows the right one again. It is gone when the key is read anew. */
  seen?: { readonly low: number; readonly high: number };
}

/** The truth about API keys. */
export interface ApiKeySource {
  /** Those of these prefixes that belong to a key. */
  apiKeys(prefixes: readonly string[]): Promise<readonly KnownApiKey[]>;
}
