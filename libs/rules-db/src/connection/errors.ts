/** The merchant does not exist. */
export class MerchantNotFoundError extends Error {
  constructor(readonly merchantId: string) {
    super(`there is no merchant ${JSON.stringify(merchantId)}`);
    this.name = 'MerchantNotFoundError';
  }
}

/** The owner has no rule with this id. */
export class RuleNotFoundError extends Error {
  constructor(readonly ruleId: string) {
    super(`there is no rule ${ruleId} here`);
    this.name = 'RuleNotFoundError';
  }
}

/** Another merchant has this id. */
export class MerchantExistsError extends Error {
  constructor(readonly merchantId: string) {
    super(`there already is a merchant ${JSON.stringify(merchantId)}`);
    this.name = 'MerchantExistsError';
  }
}

/** Another rule of the same merchant, or another default rule, has this name. */
export class RuleNameTakenError extends Error {
  constructor(readonly ruleName: string) {
    super(`there already is a rule named ${JSON.stringify(ruleName)} here`);
    this.name = 'RuleNameTakenError';
  }
}

/** The write expected another version than the stored one, `current`. */
export class VersionConflictError extends Error {
  constructor(readonly current: number) {
    super(`the version is ${current} by now`);
    this.name = 'VersionConflictError';
  }
}

/** The owner already has the maximum number of rules. */
export class TooManyRulesError extends Error {
  constructor(readonly max: number) {
    super(`there may be at most ${max} rules here`);
    this.name = 'TooManyRulesError';
  }
}

/** The maximum number of switches is on. */
export class TooManySwitchesError extends Error {
  constructor(readonly max: number) {
    super(`at most ${max} switches may be on at once`);
    this.name = 'TooManySwitchesError';
  }
}

/** There is no such token. */
export class TokenNotFoundError extends Error {
  constructor(readonly tokenId: string) {
    super(`there is no token ${tokenId}`);
    this.name = 'TokenNotFoundError';
  }
}

/** Another token has this name. */
export class TokenNameTakenError extends Error {
  constructor(readonly tokenName: string) {
    super(`there already is a token named ${JSON.stringify(tokenName)}`);
    this.name = 'TokenNameTakenError';
  }
}

/** There are as many tokens as there may be. */
export class TooManyTokensError extends Error {
  constructor(readonly max: number) {
    super(`there may be at most ${max} tokens`);
    this.name = 'TooManyTokensError';
  }
}

/** There is no such plan. */
export class PlanNotFoundError extends Error {
  constructor(readonly plan: string) {
    super(`there is no plan ${JSON.stringify(plan)}`);
    this.name = 'PlanNotFoundError';
  }
}

/** A merchant is written with a plan that does not exist. */
export class UnknownPlanError extends Error {
  constructor(readonly plan: string) {
    super(`there is no plan ${JSON.stringify(plan)}`);
    this.name = 'UnknownPlanError';
  }
}

/** There already is a plan of this name. */
export class PlanExistsError extends Error {
  constructor(readonly plan: string) {
    super(`there already is a plan ${JSON.stringify(plan)}`);
    this.name = 'PlanExistsError';
  }
}

/** Merchants have the plan, so it cannot be deleted. */
export class PlanInUseError extends Error {
  /** @param merchants how many, in words */
  constructor(
    readonly plan: string,
    readonly merchants: string,
  ) {
    super(
      `plan ${JSON.stringify(plan)} is that of ${merchants} ${merchants === '1' ? 'merchant' : 'merchants'}; give them another one first`,
    );
    this.name = 'PlanInUseError';
  }
}

/** There are as many plans as there may be. */
export class TooManyPlansError extends Error {
  constructor(readonly max: number) {
    super(`there may be at most ${max} plans`);
    this.name = 'TooManyPlansError';
  }
}

/** The merchant has no API key with this id. */
export class ApiKeyNotFoundError extends Error {
  constructor(readonly keyId: string) {
    super(`there is no API key ${keyId} here`);
    this.name = 'ApiKeyNotFoundError';
  }
}

/** Another API key of the merchant has this name. */
export class ApiKeyNameTakenError extends Error {
  constructor(readonly keyName: string) {
    super(`there already is an API key named ${JSON.stringify(keyName)} here`);
    this.name = 'ApiKeyNameTakenError';
  }
}

/** The merchant has as many API keys as it may have. */
export class TooManyApiKeysError extends Error {
  constructor(readonly max: number) {
    super(`there may be at most ${max} API keys here`);
    this.name = 'TooManyApiKeysError';
  }
}

/** There is no such approval. */
export class ApprovalNotFoundError extends Error {
  constructor(readonly approvalId: string) {
    super(`there is no approval ${approvalId}`);
    this.name = 'ApprovalNotFoundError';
  }
}

/** As many changes wait for a second administrator as may. */
export class TooManyApprovalsError extends Error {
  constructor(readonly max: number) {
    super(`${max} changes wait for a second administrator already`);
    this.name = 'TooManyApprovalsError';
  }
}

/** There is no such webhook. */
export class WebhookNotFoundError extends Error {
  constructor(readonly webhookId: string) {
    super(`there is no webhook ${webhookId}`);
    this.name = 'WebhookNotFoundError';
  }
}

/** The webhook has no such delivery. */
export class DeliveryNotFoundError extends Error {
  constructor(readonly deliveryId: string) {
    super(`there is no delivery ${deliveryId} here`);
    this.name = 'DeliveryNotFoundError';
  }
}

/** There are as many webhooks as there may be. */
export class TooManyWebhooksError extends Error {
  constructor(readonly max: number) {
    super(`there may be at most ${max} webhooks`);
    this.name = 'TooManyWebhooksError';
  }
}

/** The webhook is not enabled. */
export class WebhookDisabledError extends Error {
  constructor(readonly webhookId: string) {
    super(`webhook ${webhookId} is not enabled`);
    this.name = 'WebhookDisabledError';
  }
}

/** The merchant has no override with this id. */
export class OverrideNotFoundError extends Error {
  constructor(readonly overrideId: string) {
    super(`there is no override ${overrideId} here`);
    this.name = 'OverrideNotFoundError';
  }
}

/** What is stored does not let a rule be overridden. */
export class OverrideConflictError extends Error {
  constructor(
    readonly why: 'active' | 'too_many' | 'shared' | 'unreadable' | 'worn',
    message: string,
  ) {
    super(message);
    this.name = 'OverrideConflictError';
  }
}

/** The override does not make limits of the limits of the rule. */
export class OverrideFaultsError extends Error {
  /** @param faults `at` is the path of a field, its parts separated by slashes; `code` that of the limit's fault, if it is one */
  constructor(readonly faults: readonly { readonly at: string; readonly detail: string; readonly code?: string }[]) {
    super(faults.map(({ at, detail }) => `${at}: ${detail}`).join('; '));
    this.name = 'OverrideFaultsError';
  }
}
