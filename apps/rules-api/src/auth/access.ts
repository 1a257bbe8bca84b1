import { type CustomDecorator, SetMetadata } from '@nestjs/common';
import type { Role } from '#rules-db';

export const ACCESS = 'rules-api:access';

/** What a handler asks of the bearer of a token. */
export interface Access {
  /** This one or a later one. */
  readonly role: Role;
  /**
   * What a token that is limited to merchants may do with it. `merchant`: the path names the merchant, which must be one of them; `anything`: it concerns no
   * merchant in particular, and anybody may see it; `filtered`: the handler answers with what concerns them; `searched`: the same, and it finds those of a label by
   * itself; `nothing`: it is refused.
   */
  readonly limited: 'merchant' | 'anything' | 'filtered' | 'searched' | 'nothing';
}

/** Instead of an access: only a merchant's API key may do it, and it concerns that merchant. */
export const MERCHANT_ITSELF = 'merchant_itself';

export const ForMerchantItself = (): CustomDecorator => SetMetadata(ACCESS, MERCHANT_ITSELF);

/** Every handler that is not public says what it asks; one that does not is refused to everybody. */
export const Needs = (role: Role, limited: Access['limited']): CustomDecorator => SetMetadata(ACCESS, { role, limited } satisfies Access);
