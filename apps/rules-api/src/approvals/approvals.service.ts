import { Inject, Injectable } from '@nestjs/common';
import { ProblemError } from '#platform';
import {
  type Actor,
  type Approval,
  ApprovalNotFoundError,
  ApprovalRepository,
  inOneTransaction,
  MerchantNotFoundError,
  type MerchantReach,
  MerchantRepository,
  PlanNotFoundError,
  RuleNotFoundError,
  type Transactions,
  VersionConflictError,
} from '#rules-db';
import { demandVisible } from '../auth/forbidden.js';
import { RulesDatabase } from '../database.js';
import { badBody } from '../http/validation.pipe.js';
import { decodeCursor, encodeCursor, filteredList, type Page, toPage } from '../pagination/page.js';
import { type ApprovalQueryDto, approvalView, type ApprovalView } from './approval.dto.js';
import { ApprovedChanges } from './approved-changes.js';

/** Changes that wait for a second administrator. */
@Injectable()
export class ApprovalsService {
  constructor(
    @Inject(RulesDatabase) private readonly database: RulesDatabase,
    @Inject(ApprovalRepository) private readonly approvals: ApprovalRepository,
    @Inject(MerchantRepository) private readonly merchants: MerchantRepository,
    @Inject(ApprovedChanges) private readonly changes: ApprovedChanges,
  ) {}

  /** @param among only those of these merchants; null: all */
  async list({ state, size, cursor }: ApprovalQueryDto, among: MerchantReach): Promise<Page<ApprovalView>> {
    const list = filteredList('approvals', { state });
    const before = cursor === undefined ? undefined : decodeCursor(list, cursor, isId)[0];
    const rows = await this.approvals.list({ state, among }, { before, limit: size + 1 });
    return toPage(rows, size, approvalView, ({ id }) => encodeCursor(list, [id]));
  }

  async get(id: string, among: MerchantReach): Promise<ApprovalView> {
    const approval = await this.approvals.find(id);
    if (!approval) throw new ApprovalNotFoundError(id);
    await demandWithinReach(approval, among, this.merchants);
    return approvalView(approval);
  }

  /**
   * Makes the change, in the name of whoever wanted it, by the checks of any other change.
   * @throws ProblemError 403 for one's own, 409 if it is decided or outdated; what the change itself throws: then it still waits
   */
  async approve(id: string, among: MerchantReach, by: Actor): Promise<ApprovalView> {
    try {
      return await this.inTransaction(id, among, async (approval, transaction) => {
        const { proposedBy: name, reason, change } = approval;
        if (name === by.name) {
          const detail = 'you want this change yourself: somebody else has to approve it';
          throw new ProblemError({ status: 403, code: 'approval.own', detail });
        }
        const actor: Actor = {
          name,
          ...(by.requestId !== undefined && { requestId: by.requestId }),
          ...(reason !== null && { reason }),
          approval: { id, by: by.name },
        };
        await this.changes.carryOut(change, transaction, actor);
        return new ApprovalRepository(transaction).settle(approval, 'approved', by);
      });
    } catch (error) {
      if (!isOutdated(error)) throw error;
      await this.inTransaction(id, among, (approval, transaction) => new ApprovalRepository(transaction).settle(approval, 'outdated', by));
      const detail = 'what it would change has changed since, or can no longer be changed so; nothing was changed';
      throw new ProblemError({ status: 409, code: 'approval.outdated', detail }, { cause: error });
    }
  }

  /** @throws ProblemError 400 without a reason: whoever proposed the change has to be told */
  async reject(id: string, among: MerchantReach, by: Actor): Promise<ApprovalView> {
    if (by.reason === undefined) {
      const detail = 'must say why, or the header X-Change-Reason: whoever proposed the change has to be told';
      throw badBody([{ pointer: '/reason', code: 'approval.reason.missing', detail }]);
    }
    return this.inTransaction(id, among, (approval, transaction) => new ApprovalRepository(transaction).settle(approval, 'rejected', by));
  }

  /** @throws ApprovalNotFoundError; ProblemError 403 if it concerns other merchants, 409 if it does not wait any more */
  private async inTransaction(
    id: string,
    among: MerchantReach,
    work: (approval: Approval, transaction: Transactions) => Promise<Approval>,
  ) {
    const settled = await inOneTransaction(this.database.dataSource, async (transaction) => {
      const approval = await new ApprovalRepository(transaction).lock(id);
      await demandWithinReach(approval, among, new MerchantRepository(transaction));
      if (approval.state !== 'wanted') {
        const detail = `it does not wait any more: it is ${approval.state}`;
        throw new ProblemError({ status: 409, code: 'approval.not_wanted', detail });
      }
      return work(approval, transaction);
    });
    return approvalView(settled);
  }
}

/** @throws ProblemError 403 */
async function demandWithinReach({ merchantId }: Approval, reach: MerchantReach, merchants: MerchantRepository): Promise<void> {
  demandVisible(merchantId, await merchants.narrowed(reach, merchantId === null ? [] : [merchantId]));
}

/** Nobody can ever make this change any more. */
function isOutdated(error: unknown): boolean {
  return (
    error instanceof VersionConflictError ||
    error instanceof RuleNotFoundError ||
    error instanceof MerchantNotFoundError ||
    error instanceof PlanNotFoundError ||
    (error instanceof ProblemError && error.code === 'body.invalid')
  );
}

function isId(values: readonly unknown[]): values is [string] {
  return values.length === 1 && typeof values[0] === 'string' && /^[1-9]\d{0,17}$/.test(values[0]);
}
