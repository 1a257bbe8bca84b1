import { Rules1795190400000 } from './1795190400000-rules.js';
import { ChangeLog1795190500000 } from './1795190500000-change-log.js';
import { Penalty1795305600000 } from './1795305600000-penalty.js';
import { AuditChain1795400000000 } from './1795400000000-audit-chain.js';
import { ApiTokens1795400100000 } from './1795400100000-api-tokens.js';
import { Labels1795400200000 } from './1795400200000-labels.js';
import { IdempotencyKeys1795400300000 } from './1795400300000-idempotency-keys.js';
import { Plans1795401000000 } from './1795401000000-plans.js';
import { Overrides1795402000000 } from './1795402000000-overrides.js';
import { RuleLanguage1795403000000 } from './1795403000000-rule-language.js';
import { MerchantApiKeys1795405000000 } from './1795405000000-merchant-api-keys.js';
import { Approvals1795406000000 } from './1795406000000-approvals.js';
import { Webhooks1795406010000 } from './1795406010000-webhooks.js';
import { AuditByStatement1795408000000 } from './1795408000000-audit-by-statement.js';
import { WebhookMessages1795500000000 } from './1795500000000-webhook-messages.js';
import { RuleLabelsIndex1795800000000 } from './1795800000000-rule-labels-index.js';
import { RuleBodiesAndAnswers1795850000000 } from './1795850000000-rule-bodies-and-answers.js';
import { Switches1796000000000 } from './1796000000000-switches.js';
import { AuditByTime1797000000000 } from './1797000000000-audit-by-time.js';
import { RuleOnLimit1799000000000 } from './1799000000000-rule-on-limit.js';
import { RuleReserve1799200000000 } from './1799200000000-rule-reserve.js';
import { MerchantNameStart1799300000000 } from './1799300000000-merchant-name-start.js';
import { MerchantLabelTable1799400000000 } from './1799400000000-merchant-label-table.js';
import { RuleConsistency1799500000000 } from './1799500000000-rule-consistency.js';
import { TokenLabel1799510000000 } from './1799510000000-token-label.js';
import { AuditOfSwitch1799531000000 } from './1799531000000-audit-of-switch.js';
import { SwitchVersions1799530000000 } from './1799530000000-switch-versions.js';
import { AuditOfToken1799520000000 } from './1799520000000-audit-of-token.js';

/** Every migration, the oldest first. They are named here one by one: globs find no `.ts` files once compiled. */
export const MIGRATIONS = [
  Rules1795190400000,
  ChangeLog1795190500000,
  Penalty1795305600000,
  AuditChain1795400000000,
  ApiTokens1795400100000,
  Labels1795400200000,
  IdempotencyKeys1795400300000,
  Plans1795401000000,
  Overrides1795402000000,
  RuleLanguage1795403000000,
  MerchantApiKeys1795405000000,
  Approvals1795406000000,
  Webhooks1795406010000,
  AuditByStatement1795408000000,
  WebhookMessages1795500000000,
  RuleLabelsIndex1795800000000,
  RuleBodiesAndAnswers1795850000000,
  Switches1796000000000,
  AuditByTime1797000000000,
  RuleOnLimit1799000000000,
  RuleReserve1799200000000,
  MerchantNameStart1799300000000,
  MerchantLabelTable1799400000000,
  RuleConsistency1799500000000,
  TokenLabel1799510000000,
  AuditOfToken1799520000000,
  SwitchVersions1799530000000,
  AuditOfSwitch1799531000000,
];
