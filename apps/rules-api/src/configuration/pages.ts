import { MAX_RULES_PER_OWNER } from '#rules-db';

/** Merchants of a page, as long as the page has not too many rules. */
const MERCHANTS_AT_ONCE = 100;

/** Rules of a page, roughly: a page is compared and written between two looks at the clock of the connection. */
const RULES_AT_ONCE = 1_000;

/** Merchants or plans in pages of a bounded number of them and, one of them more or less, of rules. */
export function* pagesOf<T extends { readonly rules: readonly unknown[] }>(merchants: Iterable<T>): Generator<T[]> {
  let page: T[] = [];
  let rules = 0;
  for (const merchant of merchants) {
    page.push(merchant);
    rules += merchant.rules.length;
    if (page.length < MERCHANTS_AT_ONCE && rules + MAX_RULES_PER_OWNER <= RULES_AT_ONCE) continue;
    yield page;
    [page, rules] = [[], 0];
  }
  if (page.length > 0) yield page;
}
