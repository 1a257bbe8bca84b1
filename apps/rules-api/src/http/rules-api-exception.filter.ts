import { type ArgumentsHost, Catch } from '@nestjs/common';
import { ProblemDetailsFilter, ProblemError } from '#platform';
import {
  ApiKeyNameTakenError,
  ApiKeyNotFoundError,
  ApprovalNotFoundError,
  ApprovalWantedError,
  DeliveryNotFoundError,
  isDatabaseUnavailable,
  MerchantExistsError,
  MerchantNotFoundError,
  OverrideConflictError,
  OverrideNotFoundError,
  PlanInUseError,
  PlanNotFoundError,
  PoolBusyError,
  RuleNameTakenError,
  RuleNotFoundError,
  TokenNameTakenError,
  TokenNotFoundError,
  TooManyApiKeysError,
  TooManyApprovalsError,
  TooManyPlansError,
  TooManyRulesError,
  TooManyTokensError,
  TooManySwitchesError,
  TooManyWebhooksError,
  UnknownPlanError,
  VersionConflictError,
  WebhookDisabledError,
  WebhookNotFoundError,
} from '#rules-db';
import { approvalNeeded } from './approval-needed.js';
import { entityTag } from './entity-tag.js';
import { badBody } from './validation.pipe.js';

/** Answers what the database refuses, and its absence, as problems. */
@Catch()
export class RulesApiExceptionFilter extends ProblemDetailsFilter {
  override catch(exception: unknown, host: ArgumentsHost): void {
    super.catch(asProblem(exception) ?? exception, host);
  }
}

const NOT_FOUND = [
  [MerchantNotFoundError, 'merchant.not_found'],
  [RuleNotFoundError, 'rule.not_found'],
  [PlanNotFoundError, 'plan.not_found'],
  [TokenNotFoundError, 'token.not_found'],
  [ApiKeyNotFoundError, 'api_key.not_found'],
  [OverrideNotFoundError, 'override.not_found'],
  [ApprovalNotFoundError, 'approval.not_found'],
  [WebhookNotFoundError, 'webhook.not_found'],
  [DeliveryNotFoundError, 'webhook.delivery.not_found'],
] as const;

const CONFLICTS = [
  [TooManyRulesError, 'rule.too_many'],
  [TooManyPlansError, 'plan.too_many'],
  [PlanInUseError, 'plan.in_use'],
  [TooManyTokensError, 'token.too_many'],
  [TooManyApiKeysError, 'api_key.too_many'],
  [TooManyApprovalsError, 'approval.too_many'],
  [TooManySwitchesError, 'switch.too_many'],
  [TooManyWebhooksError, 'webhook.too_many'],
  [WebhookDisabledError, 'webhook.disabled'],
] as const;

const OVERRIDE_CONFLICTS: Readonly<Record<OverrideConflictError['why'], string>> = {
  active: 'override.rule.taken',
  too_many: 'override.too_many',
  shared: 'override.rule.shared',
  unreadable: 'override.rule.unreadable',
  worn: 'override.rule.worn',
};

/** The problem that an error of rules-db stands for; nothing for other errors. */
export function asProblem(error: unknown): ProblemError | undefined {
  const notFound = NOT_FOUND.find(([type]) => error instanceof type);
  if (notFound) return new ProblemError({ status: 404, code: notFound[1], detail: (error as Error).message });
  const conflict = CONFLICTS.find(([type]) => error instanceof type);
  if (conflict) return new ProblemError({ status: 409, code: conflict[1], detail: (error as Error).message });
  if (error instanceof MerchantExistsError) {
    return taken('merchant.id.taken', '/id', error);
  }
  if (error instanceof RuleNameTakenError) return taken('rule.name.taken', '/name', error);
  if (error instanceof TokenNameTakenError) return taken('token.name.taken', '/name', error);
  if (error instanceof ApiKeyNameTakenError) return taken('api_key.name.taken', '/name', error);
  if (error instanceof UnknownPlanError)
    return badBody([{ pointer: '/plan', code: 'merchant.plan.not_found', detail: `must be the name of a plan, and ${error.message}` }]);
  if (error instanceof ApprovalWantedError) return approvalNeeded(error.changes.map(({ before }) => (before as { name: string }).name));
  if (error instanceof OverrideConflictError)
    return new ProblemError({ status: 409, code: OVERRIDE_CONFLICTS[error.why], detail: error.message });
  if (error instanceof VersionConflictError) {
    const tag = entityTag(error.current);
    return new ProblemError({
      status: 412,
      code: 'version.changed',
      detail: `it has changed since: its ETag is ${tag} by now; read it again and decide anew`,
      headers: { etag: tag },
    });
  }
  if (error instanceof PoolBusyError) return databaseBusy(error);
  return isDatabaseUnavailable(error) ? databaseUnavailable(error) : undefined;
}

/** So many requests wait for a connection that this one was not let in. */
function databaseBusy(cause: PoolBusyError): ProblemError {
  return new ProblemError(
    {
      status: 503,
      code: 'database.busy',
      detail: 'too many requests wait for the database; nothing was changed, repeat this one later',
      headers: { 'retry-after': '1' },
    },
    { cause },
  );
}

function taken(code: string, pointer: string, { message }: Error): ProblemError {
  return new ProblemError({ status: 409, code, detail: message, errors: [{ pointer, code, detail: 'is taken' }] });
}

/** The database is gone or too slow. Whether a write was done before the connection broke, nobody knows. */
export function databaseUnavailable(cause?: unknown): ProblemError {
  return new ProblemError(
    {
      status: 503,
      code: 'database.unavailable',
      detail: 'the database does not answer; read before you repeat a write, it may have been done',
      headers: { 'retry-after': '1' },
    },
    { cause },
  );
}
