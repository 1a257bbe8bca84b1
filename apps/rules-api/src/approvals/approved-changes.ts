import { Inject, Injectable } from '@nestjs/common';
import { ProblemError } from '#platform';
import {
  type Actor,
  AuditRepository,
  OverrideRepository,
  ownerOf,
  type ProposedChange,
  type RuleEntity,
  type RuleOwner,
  RuleRepository,
  type Transactions,
  VersionConflictError,
} from '#rules-db';
import { validated } from '../http/validation.pipe.js';
import { CreateOverrideDto } from '../overrides/override.dto.js';
import { namingFields, overrideSpec } from '../overrides/override-spec.js';
import { ReplaceRuleDto, ruleSpec } from '../rules/rule.dto.js';

type CarryOut = (change: ProposedChange, transaction: Transactions, by: Actor) => Promise<void>;

/** Makes changes that were approved, by the checks of any other change. What is stored of them is input from outside: another version of Tollgate may have written it. */
@Injectable()
export class ApprovedChanges {
  private readonly byAction: Readonly<Partial<Record<string, CarryOut>>> = {
    'rule.replaced': (change, transaction, by) => this.replaceRule(change, transaction, by),
    'rule.reverted': (change, transaction, by) => this.replaceRule(change, transaction, by),
    'rule.deleted': (change, transaction, by) =>
      new RuleRepository(transaction).delete(ownerOfRule(change), change.ruleId!, [change.version!], by),
    'override.created': (change, transaction, by) => this.createOverride(change, transaction, by),
  };

  constructor(@Inject(AuditRepository) private readonly audit: AuditRepository) {}

  /** @throws ProblemError 409 for an action that only another version of Tollgate knows; whatever the change itself throws */
  async carryOut(change: ProposedChange, transaction: Transactions, by: Actor): Promise<void> {
    const carryOut = this.byAction[change.action];
    if (carryOut === undefined) {
      const detail = `this version of Tollgate cannot make a change of the kind ${change.action}`;
      throw new ProblemError({ status: 409, code: 'approval.unknown_change', detail });
    }
    await carryOut(change, transaction, by);
  }

  private async createOverride({ merchantId, version, after }: ProposedChange, transaction: Transactions, by: Actor): Promise<void> {
    const body = validated(after, CreateOverrideDto);
    const actor = body.reason === undefined ? by : { ...by, reason: body.reason };
    const spec = { ...overrideSpec(body, actor), ruleVersion: version! };
    await namingFields(new OverrideRepository(transaction).create(merchantId!, spec, actor));
  }

  private async replaceRule(change: ProposedChange, transaction: Transactions, by: Actor): Promise<void> {
    const { action, ruleId, version, after } = change;
    const owner = ownerOfRule(change);
    const rules = new RuleRepository(transaction);
    const spec = ruleSpec(validated(after, ReplaceRuleDto));
    const isRevert = action === 'rule.reverted';
    if (isRevert && !(await rules.find(owner, ruleId!))) {
      const last = await this.audit.lastOfRule(owner, ruleId!);
      // It came back and was deleted again meanwhile, or the merchant was.
      if (last?.action !== 'rule.deleted') throw new VersionConflictError(version!);
      await rules.restore(owner, last.before as RuleEntity, [version!], spec, by);
    } else {
      await rules.replace(owner, ruleId!, [version!], spec, by, isRevert ? 'rule.reverted' : 'rule.replaced');
    }
  }
}

function ownerOfRule({ merchantId, plan = null }: ProposedChange): RuleOwner {
  return ownerOf({ merchantId, plan });
}
