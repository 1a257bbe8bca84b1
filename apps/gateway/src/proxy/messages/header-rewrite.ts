/** What is done to the headers of a request or an answer. Names are in lower case. */
export interface HeaderRewriteOptions {
  /** In place of any header of the same name. */
  readonly set: Readonly<Record<string, string>>;
  readonly remove: readonly string[];
}

export interface HeaderRewrite {
  /** Names that do not stay as they came. */
  readonly replaced: ReadonlySet<string>;
  /** Flat list of names and values. */
  readonly added: readonly string[];
}

/** @returns undefined if there is nothing to do */
export function headerRewrite({ set, remove }: HeaderRewriteOptions): HeaderRewrite | undefined {
  const replaced = new Set([...Object.keys(set), ...remove].map((name) => name.toLowerCase()));
  return replaced.size === 0 ? undefined : { replaced, added: Object.entries(set).flat() };
}

/** @param headers flat list of names and values */
export function rewritten(headers: readonly string[], { replaced, added }: HeaderRewrite): string[] {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    // CGI and its descendants take a name with `_` for the one with `-`.
    if (!replaced.has(headers[i]!.toLowerCase().replaceAll('_', '-'))) kept.push(headers[i]!, headers[i + 1]!);
  }
  kept.push(...added);
  return kept;
}
