import { isDeepStrictEqual } from 'node:util';
import { createPatch } from 'rfc6902';
import type { RuleSpec } from '#limiter';
import type { RuleEdits, RuleEntity, RuleRepository } from '#rules-db';
import type { PatchStep } from '../history/history.dto.js';
import { ruleSpec } from '../rules/rule.dto.js';
import type { UnreadableRules } from '../rules/unreadable-rules.js';
import type { AppliedChange } from './configuration.dto.js';
import type { RulesOfOwner } from './document-warnings.js';
import { aboutRulesOf, added, ownerName } from './planned-changes.js';
import type { GrowingReconciliation } from './reconciliation.js';
import { isSelected, notSelected, type Selection } from './selection.js';

/** An owner of the document beside what is stored. */
export interface Compared {
  readonly changes: AppliedChange[];
  readonly edit: RuleEdits;
  readonly rules: RulesOfOwner;
}

/** Rules of an owner, and what else the document says of the owner. */
interface Wanted extends Pick<RulesOfOwner, 'owner' | 'pointer' | 'wanted' | 'plan'> {
  /** The change of the owner itself. */
  readonly first?: AppliedChange | undefined;
}

/** The part of a reconciliation that concerns rules, whoever owns them: a merchant, a plan, or nobody. */
export class RuleReconciler {
  constructor(
    private readonly rules: RuleRepository,
    private readonly unreadable: UnreadableRules,
    private readonly selection: Selection | undefined,
    private readonly result: GrowingReconciliation,
  ) {}

  /** @param all that is stored of the owner */
  compared({ owner, wanted, first, ...place }: Wanted, all: readonly RuleEntity[]): Compared {
    const { selection } = this;
    const about = aboutRulesOf(owner);
    const changes = first ? [first] : [];
    const names = new Set(wanted.map(({ name }) => name));
    const stored = all.filter((rule) => isSelected(selection, rule));
    const outside = all.find((rule) => names.has(rule.name) && !isSelected(selection, rule));
    if (outside) throw notSelected(`the rule ${JSON.stringify(outside.name)} of ${ownerName(owner)}`, selection!);
    const deleted = stored.filter(({ name }) => !names.has(name));
    this.result.deletions.rules.of += stored.length;
    this.result.deletions.rules.deleted += deleted.length;
    this.result.noteProtected(deleted);
    for (const { name } of deleted) changes.push({ action: 'delete', ...about, id: name, patch: [{ op: 'remove', path: '' }] });
    const former = new Map(stored.map((rule) => [rule.name, rule]));
    const replaced: RuleEdits['replaced'][number][] = [];
    for (const spec of wanted) {
      const before = former.get(spec.name);
      const patch = before === undefined ? [] : this.patchOf(before, spec);
      if (before === undefined || patch.length === 0) continue;
      replaced.push({ before, spec });
      changes.push({ action: 'update', ...about, id: spec.name, patch });
    }
    this.result.noteProtected(replaced.map(({ before }) => before));
    const created = wanted.filter(({ name }) => !former.has(name));
    for (const spec of created) changes.push({ action: 'create', ...about, id: spec.name, patch: added(spec) });
    const written = new Set([...replaced.map(({ spec }) => spec), ...created].map(({ name }) => name));
    return { changes, edit: { owner, deleted, replaced, created }, rules: { ...place, owner, wanted, stored: all, written } };
  }

  async looked(compared: readonly Compared[]): Promise<readonly Compared[]> {
    await this.result.warnings.look(compared.map(({ rules }) => rules));
    return compared;
  }

  /** Notes the changes of owners, and makes those of their rules. */
  async finish(compared: readonly Compared[]): Promise<void> {
    for (const { changes } of compared) for (const change of changes) this.result.changes.push(change);
    const edits = compared
      .map(({ edit }) => edit)
      .filter(({ deleted, replaced, created }) => deleted.length + replaced.length + created.length > 0);
    if (this.result.by && edits.length > 0) await this.rules.editAll(edits, this.result.by);
  }

  private patchOf(before: RuleEntity, spec: RuleSpec): PatchStep[] {
    // What cannot be read has nothing that could be compared: it is replaced as a whole.
    if (this.unreadable.faultOf(before) !== undefined) return [{ op: 'replace', path: '', value: spec }];
    const stored = ruleSpec(before);
    return isDeepStrictEqual(stored, spec) ? [] : (createPatch(stored, spec) as PatchStep[]);
  }
}
