import { SetMetadata } from '@nestjs/common';

/** Metadata key that guards look for. */
export const PUBLIC_ROUTE = 'tollgate:public-route';

/** Marks a controller or handler that answers without a token. */
export const Public = (): ClassDecorator & MethodDecorator => SetMetadata(PUBLIC_ROUTE, true);
