import type { MerchantEdit, MerchantEntity, RuleEntity } from '#rules-db';
import type { AppliedChange, Configuration, ConfiguredMerchant, Placed } from './configuration.dto.js';
import { pagesOf } from './pages.js';
import { added, editOf } from './planned-changes.js';
import type { GrowingReconciliation, ReconcileOptions, Repositories } from './reconciliation.js';
import type { Compared, RuleReconciler } from './rule-reconciler.js';
import { isSelected, notSelected } from './selection.js';

/** Merchants that are looked through at once for those that the document lacks. */
const READ_AT_ONCE = 200;

/** The part of a reconciliation that concerns merchants. */
export class MerchantReconciler {
  constructor(
    private readonly repositories: Repositories,
    private readonly options: ReconcileOptions,
    private readonly result: GrowingReconciliation,
    private readonly ruleReconciler: RuleReconciler,
  ) {}

  /** Merchants with their rules, compared. The rules of a page are written while the next page is compared: they are rules of others. */
  async *comparedPages(merchants: Configuration['merchants']): AsyncGenerator<readonly Compared[]> {
    for (const page of pagesOf(merchants)) yield await this.ruleReconciler.looked(await this.comparedMerchants(page));
  }

  /** Compares merchants of a page with what is stored, and writes them, but not their rules. */
  private async comparedMerchants(wanted: readonly Placed<ConfiguredMerchant>[]): Promise<Compared[]> {
    const { merchants, rules } = this.repositories;
    const found = await merchants.list({ among: wanted.map(({ id }) => id), limit: wanted.length });
    const stored = new Map(found.map((merchant) => [merchant.id, merchant]));
    const changes = await this.writeMerchants(wanted, stored);
    // They are read after that, because another time zone moves limits.
    const ofMerchant = new Map<string | null, RuleEntity[]>(wanted.map(({ id }) => [id, []]));
    if (found.length > 0) for (const rule of await rules.ofOwners([...stored.keys()])) ofMerchant.get(rule.merchantId)?.push(rule);
    return wanted.map((each) => {
      const { id, pointer, rules: its } = each;
      const { plan } = isSelected(this.options.selection, each) ? each : stored.get(id)!;
      const rulesOfIt = { owner: id, pointer: `${pointer}/rules`, wanted: its, plan, first: changes.get(id) };
      return this.ruleReconciler.compared(rulesOfIt, ofMerchant.get(id) ?? []);
    });
  }

  /** The changes of merchants by their ids, made. */
  private async writeMerchants(
    wanted: readonly Placed<ConfiguredMerchant>[],
    stored: ReadonlyMap<string, MerchantEntity>,
  ): Promise<Map<string, AppliedChange>> {
    const { by } = this.result;
    const { selection } = this.options;
    const created: Omit<ConfiguredMerchant, 'rules'>[] = [];
    const edits: MerchantEdit[] = [];
    const changes = new Map<string, AppliedChange>();
    for (const { rules: _rules, pointer: _pointer, ...spec } of wanted) {
      const before = stored.get(spec.id);
      const about = { kind: 'merchant', id: spec.id, merchantId: spec.id } as const;
      if (!isSelected(selection, spec)) {
        // Its rules are managed, and it is not.
        if (before === undefined) throw notSelected(`the new merchant ${JSON.stringify(spec.id)}`, selection!);
      } else if (before === undefined) {
        created.push(spec);
        changes.set(spec.id, { action: 'create', ...about, patch: added(spec) });
      } else {
        if (!isSelected(selection, before)) throw notSelected(`the merchant ${JSON.stringify(spec.id)}`, selection!);
        this.result.deletions.merchants.of++;
        const edit = editOf(before, spec);
        if (edit.patch.length === 0) continue;
        edits.push(edit);
        changes.set(spec.id, { action: 'update', ...about, patch: edit.patch });
      }
    }
    if (by && created.length > 0) await this.repositories.merchants.createAll(created, by);
    if (by && edits.length > 0) await this.repositories.merchants.updateAll(edits, by);
    return changes;
  }

  /** The rules of a deleted merchant go with it, and count among the deleted ones. */
  async deleteOthers(kept: ReadonlySet<string>): Promise<void> {
    const { merchants, rules } = this.repositories;
    let after: string | undefined;
    for (;;) {
      const page = await merchants.list({ after, limit: READ_AT_ONCE });
      const others = page.filter(({ id }) => !kept.has(id)).map(({ id }) => id);
      const gone = others.length === 0 ? 0 : await rules.countOf(others);
      this.result.deletions.rules.of += gone;
      this.result.deletions.rules.deleted += gone;
      if (gone > 0) this.result.noteProtected(await rules.protectedOf(others));
      this.result.deletions.merchants.of += others.length;
      this.result.deletions.merchants.deleted += others.length;
      for (const id of others)
        this.result.changes.push({ action: 'delete', kind: 'merchant', id, merchantId: id, patch: [{ op: 'remove', path: '' }] });
      if (this.result.by && others.length > 0) await merchants.deleteAll(others, this.result.by);
      if (page.length < READ_AT_ONCE) return;
      after = page.at(-1)!.id;
    }
  }
}
