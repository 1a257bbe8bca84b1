import type { PipeTransform } from '@nestjs/common';
import { isMerchantId, isPlanName, PLAN_NAME, shown, SWITCH_NAMES, type SwitchName } from '#limiter';
import { ProblemError } from '#platform';
import {
  ApiKeyNotFoundError,
  ApprovalNotFoundError,
  DeliveryNotFoundError,
  MerchantNotFoundError,
  OverrideNotFoundError,
  PlanNotFoundError,
  RuleNotFoundError,
  TokenNotFoundError,
  WebhookNotFoundError,
} from '#rules-db';

const MAX_BIGINT = 9_223_372_036_854_775_807n;

/** The merchant id of a path. What cannot be one is not found, like any other that does not exist. */
export class MerchantIdPipe implements PipeTransform {
  transform(value: string): string {
    if (isMerchantId(value)) return value;
    throw new MerchantNotFoundError(String(value).slice(0, 200));
  }
}

/** The name of a switch in a path. */
export class SwitchNamePipe implements PipeTransform {
  transform(value: string): SwitchName {
    const name = SWITCH_NAMES.find((each) => each === value);
    if (name !== undefined) return name;
    const detail = `there is no switch ${shown(value)}; there are ${SWITCH_NAMES.join(' and ')}`;
    throw new ProblemError({ status: 404, code: 'switch.not_found', detail });
  }
}

/** The name of a plan in a path, likewise. */
export class PlanNamePipe implements PipeTransform {
  transform(value: string): string {
    if (isPlanName(value)) return value;
    throw new PlanNotFoundError(String(value).slice(0, 200));
  }
}

/** The name of a plan that is perhaps about to be created: what is wrong with it is said. */
export class NewPlanNamePipe implements PipeTransform {
  transform(value: string): string {
    if (isPlanName(value)) return value;
    const detail = `the name of a plan ${PLAN_NAME.expected}, got ${shown(value)}`;
    throw new ProblemError({ status: 400, code: 'plan.name.malformed', detail });
  }
}

/** The rule id of a path, likewise. */
export class RuleIdPipe implements PipeTransform {
  transform(value: string): string {
    if (!isId(value)) throw new RuleNotFoundError(value.slice(0, 200));
    return value;
  }
}

/** The token id of a path, likewise. */
export class TokenIdPipe implements PipeTransform {
  transform(value: string): string {
    if (!isId(value)) throw new TokenNotFoundError(value.slice(0, 200));
    return value;
  }
}

/** The id of an API key in a path, likewise. */
export class ApiKeyIdPipe implements PipeTransform {
  transform(value: string): string {
    if (!isId(value)) throw new ApiKeyNotFoundError(value.slice(0, 200));
    return value;
  }
}

/** The approval id of a path, likewise. */
export class ApprovalIdPipe implements PipeTransform {
  transform(value: string): string {
    if (!isId(value)) throw new ApprovalNotFoundError(value.slice(0, 200));
    return value;
  }
}

/** The webhook id of a path, likewise. */
export class WebhookIdPipe implements PipeTransform {
  transform(value: string): string {
    if (!isId(value)) throw new WebhookNotFoundError(value.slice(0, 200));
    return value;
  }
}

/** The delivery id of a path, likewise. */
export class DeliveryIdPipe implements PipeTransform {
  transform(value: string): string {
    if (!isId(value)) throw new DeliveryNotFoundError(value.slice(0, 200));
    return value;
  }
}

/** The override id of a path, likewise. */
export class OverrideIdPipe implements PipeTransform {
  transform(value: string): string {
    if (!isId(value)) throw new OverrideNotFoundError(value.slice(0, 200));
    return value;
  }
}

/** Ids of the database are positive numbers of 64 bits. */
function isId(value: string): boolean {
  return /^[1-9]\d{0,18}$/.test(value) && BigInt(value) <= MAX_BIGINT;
}
