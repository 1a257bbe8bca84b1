import { createHash } from 'node:crypto';
import { DESCRIPTOR_HEADER, fieldOfKey } from '#envoy';
import { type Condition, isMerchantId } from '#limiter';
import { hasStar, type Kind, kindOf, lastOf, limitsIn, patternOf, type PlacedLimit, type Step } from './configured-limits.js';
import { type RatelimitFile, readRatelimitFile } from './ratelimit-file.js';
import { type Place, type PlacedFault, Reader } from './reader.js';
import { conditionsOf } from './rule-conditions.js';

/** The label of all rules that came from one domain. */
export const DOMAIN_LABEL = 'envoy-domain';

export interface WrittenRule {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly priority: number;
  readonly mode?: 'shadow';
  readonly match: { readonly methods?: readonly string[]; readonly all: readonly Condition[] };
  readonly key: readonly string[];
  readonly limits: readonly [
    { readonly name: string; readonly algorithm: 'fixed_window'; readonly limit: number; readonly windowMs: number },
  ];
}

interface WrittenMerchant {
  readonly id: string;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly rules: readonly WrittenRule[];
}

/** A file that `apply` takes. */
export interface WrittenDocument {
  readonly version: 1;
  readonly merchants: readonly WrittenMerchant[];
  readonly defaultRules?: readonly WrittenRule[];
}

export interface Translation {
  readonly domain: string;
  readonly document: WrittenDocument;
  /** Where in the file that stands from which a part of the document was made. */
  readonly sourceOf: (pointer: string) => Place;
}

/** Above rules that nobody gave a priority: a rule that was imported is the more special one wherever it matches. */
const PRIORITY: Record<Kind, number> = { any: 1000, star: 1200, exact: 1300 };
/** Those with a star count down from here in the order of the file. */
const MOST_STARS = 100;
const MOST_KEY_PARTS = 8;
const LONGEST_NAME = 100;

/**
 * Translates a configuration of envoyproxy/ratelimit into rules that decide the same of descriptors.
 *
 * @param content the file, its scalars left as texts
 */
export function rulesOfRatelimit(content: unknown): Translation | { readonly faults: readonly PlacedFault[] } {
  const reader = new Reader();
  const file = readRatelimitFile(content, reader);
  if (reader.faults.length > 0) return { faults: reader.faults };
  const translation = translated(file, reader);
  return reader.faults.length > 0 ? { faults: reader.faults } : translation;
}

function translated(file: RatelimitFile, reader: Reader): Translation {
  const all = limitsIn(file.descriptors);
  demandPlainReplacing(all, reader);
  const owners = new Map<string | null, { readonly rule: WrittenRule; readonly source: Place }[]>([[file.domain, []]]);
  for (const placed of all) {
    const owner = ownerOf(file, placed, reader);
    const rules = owners.get(owner) ?? [];
    owners.set(owner, rules);
    for (const methods of methodsOf(placed, reader)) {
      const names = new Set(rules.map(({ rule }) => rule.name));
      rules.push({ rule: ruleOf(file, all, placed, { methods, names }, reader), source: lastOf(placed).node.pointer });
    }
  }
  const defaults = owners.get(null);
  owners.delete(null);
  const merchants = [...owners] as [string, typeof defaults & object][];
  const labels = { [DOMAIN_LABEL]: file.domain };
  return {
    domain: file.domain,
    document: {
      version: 1,
      merchants: merchants.map(([id, rules]) => ({
        id,
        name: id,
        // Of another merchant only these rules are managed.
        ...(id === file.domain && { labels }),
        rules: rules.map(({ rule }) => rule),
      })),
      // Without the list default rules of a former import would stay.
      defaultRules: defaults?.map(({ rule }) => rule) ?? [],
    },
    sourceOf: (pointer) => {
      const [, list, first, , second] = pointer.split('/');
      const rules = list === 'defaultRules' ? defaults : merchants[Number(first)]?.[1];
      const index = list === 'defaultRules' ? first : second;
      return rules?.[Number(index ?? NaN)]?.source ?? (list === 'merchants' ? '/domain' : '');
    },
  };
}

/** A limit is replaced by a form of descriptors: what is excepted from that form cannot be said of the other descriptors of a call. */
function demandPlainReplacing(all: readonly PlacedLimit[], reader: Reader): void {
  const names = new Set(all.map(({ limit }) => limit.name));
  for (const placed of all) {
    const { limit, path } = placed;
    const { pointer } = lastOf(placed).node;
    limit.replaces.forEach((name, i) => {
      if (!names.has(name)) reader.fault(`${pointer}/rate_limit/replaces/${i}`, 'must be the name of a limit in this file');
    });
    const isPlain = path.every(({ node, siblings }) => kindOf(node) === 'exact' || siblings.every(({ key }) => key !== node.key));
    if (limit.replaces.length > 0 && !isPlain)
      reader.fault(`${pointer}/rate_limit/replaces`, 'cannot be translated where other values of the same key stand beside it');
  }
}

/** Whose rule it is: that of the merchant whom the descriptor names, of all merchants, or of the one that has the name of the domain. */
function ownerOf({ domain }: RatelimitFile, { path }: PlacedLimit, reader: Reader): string | null {
  const naming = path.map(({ node }) => node).filter(({ key }) => fieldOfKey(key) === 'merchant');
  const [node, second] = naming;
  if (node === undefined) return domain;
  if (second !== undefined) reader.fault(second.pointer, 'cannot be translated: a descriptor names one merchant');
  if (kindOf(node) !== 'exact') return null;
  if (!isMerchantId(node.value)) reader.fault(`${node.pointer}/value`, 'cannot be the id of a merchant');
  return node.value!;
}

function ruleOf(
  file: RatelimitFile,
  all: readonly PlacedLimit[],
  placed: PlacedLimit,
  { methods, names }: { readonly methods: readonly string[]; readonly names: ReadonlySet<string> },
  reader: Reader,
): WrittenRule {
  const { limit, path } = placed;
  const { node, index } = lastOf(placed);
  const kind = kindOf(node);
  return {
    name: nameOf(`${methods.join(' ')} ${patternOf(file, path)}`, path, names),
    labels: { [DOMAIN_LABEL]: file.domain },
    priority: PRIORITY[kind] - (kind === 'star' ? Math.min(index, MOST_STARS) : 0),
    ...(node.shadow && { mode: 'shadow' as const }),
    match: { ...(methods.length > 0 && { methods }), all: conditionsOf(file, all, placed, reader) },
    key: keyOf(path, reader),
    limits: [{ name: limit.name ?? limit.unit, algorithm: 'fixed_window', limit: limit.requests, windowMs: limit.windowMs }],
  };
}

/**
 * The methods of the rules that a limit becomes. A rule without methods is one for all but OPTIONS; where the file leaves the method open, its buckets are told
 * apart by the method anyway, so that a second rule for OPTIONS has none in common with the first.
 */
function methodsOf({ path }: PlacedLimit, reader: Reader): readonly (readonly string[])[] {
  const node = path.map((step) => step.node).find(({ key }) => fieldOfKey(key) === 'method');
  if (node === undefined) return [[]];
  if (kindOf(node) === 'exact') return [node.value === 'OPTIONS' ? ['OPTIONS'] : []];
  if (hasStar(node) && node.isShared) reader.fault(`${node.pointer}/share_threshold`, 'cannot be translated for methods');
  return [[], ['OPTIONS']];
}

/**
 * Each combination of values that the file leaves open has a budget of its own. Fields tell them apart where each entry is a field of its own, so that
 * operators find buckets by words they know; otherwise the whole descriptor does.
 */
function keyOf(path: readonly Step[], reader: Reader): readonly string[] {
  const shared = path.find(({ node }) => node.isShared && hasStar(node));
  const fields = path.map(({ node }) => fieldOfKey(node.key));
  const open = path.filter(({ node }) => kindOf(node) !== 'exact' && !(node.isShared && hasStar(node)));
  const parts = new Set(['merchant', ...open.map(({ node }) => fieldOfKey(node.key)!)]);
  if (open.length === 0) return ['merchant'];
  const areFields = !fields.includes(undefined) && new Set(fields).size === fields.length;
  if (areFields && parts.size <= MOST_KEY_PARTS) return [...parts];
  if (shared !== undefined)
    reader.fault(`${shared.node.pointer}/share_threshold`, 'cannot be translated with these keys: each must be a field of its own');
  return ['merchant', `header.${DESCRIPTOR_HEADER}`];
}

/** What people call the rule. */
function nameOf(pattern: string, path: readonly Step[], names: ReadonlySet<string>): string {
  const words = path.map(({ node: { key, value } }) => (value === undefined ? key : `${key}=${value}`)).join(', ');
  const plain = words
    .toWellFormed()
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  if (plain === words && plain.length <= LONGEST_NAME && !names.has(plain)) return plain;
  const digest = createHash('sha256').update(pattern).digest('hex').slice(0, 12);
  return `${[...plain].slice(0, 40).join('').trim()} ${digest}`.trim();
}
