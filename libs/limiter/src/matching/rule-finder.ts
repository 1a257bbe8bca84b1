import type { AskedRequest } from './asked-request.js';
import { RuleIndex } from './rule-index.js';
import { compareRules } from './rule-order.js';
import type { RuleTemplate } from './rule-template.js';

/**
 * Finds the first rule of a layer that a request fits. Rules that merchants share have an index that they share too; the rules of a merchant's own have
 * one beside it, and what both find is asked in one order.
 */
export class RuleFinder {
  /**
   * @param indexes one for each owner's rules
   * @param replaced rules that are others for this merchant, in the same place
   */
  private constructor(
    private readonly indexes: readonly RuleIndex[],
    private readonly replaced?: ReadonlyMap<RuleTemplate, RuleTemplate>,
  ) {}

  /** @param rules in order, of one owner; @param shared finds those of others */
  static of(rules: readonly RuleTemplate[], shared?: RuleFinder): RuleFinder {
    return new RuleFinder([...(rules.length > 0 ? [new RuleIndex(rules)] : []), ...(shared?.indexes ?? [])]);
  }

  /** The same with other rules in the place of some. They have the same paths and the same place in the order. */
  replacing(replaced: ReadonlyMap<RuleTemplate, RuleTemplate>): RuleFinder {
    return new RuleFinder(this.indexes, replaced);
  }

  /** The first rule, in their order, that fits: only those are asked that may concern the path of the request. A rule may be asked twice. */
  find({ segments, ignoreCase }: AskedRequest, fits: (template: RuleTemplate) => boolean): RuleTemplate | undefined {
    const lists: (readonly RuleTemplate[])[] = [];
    for (const index of this.indexes) index.addCandidates(segments, ignoreCase, lists);
    return lists.length === 1 ? this.firstOf(lists[0]!, fits) : this.firstOfAll(lists, fits);
  }

  private firstOf(list: readonly RuleTemplate[], fits: (template: RuleTemplate) => boolean): RuleTemplate | undefined {
    for (const template of list) {
      const asked = this.inForce(template);
      if (fits(asked)) return asked;
    }
    return undefined;
  }

  /** There are few lists, so the next rule is looked for among their first ones. */
  private firstOfAll(lists: readonly (readonly RuleTemplate[])[], fits: (template: RuleTemplate) => boolean): RuleTemplate | undefined {
    const places = lists.map(() => 0);
    for (;;) {
      let from = -1;
      let next: RuleTemplate | undefined;
      for (let i = 0; i < lists.length; i++) {
        const template = lists[i]![places[i]!];
        if (template !== undefined && (next === undefined || compareRules(template, next) < 0)) {
          next = template;
          from = i;
        }
      }
      if (next === undefined) return undefined;
      places[from]!++;
      const asked = this.inForce(next);
      if (fits(asked)) return asked;
    }
  }

  private inForce(template: RuleTemplate): RuleTemplate {
    return this.replaced?.get(template) ?? template;
  }
}
