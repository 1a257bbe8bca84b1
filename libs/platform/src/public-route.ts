import { SetMetadata } from '@nestjs/common';

/** The metadata key of routes that need no token. */
export const PUBLIC_ROUTE = 'tollgate:public-route';

/** Marks a controller or handler that needs no token. */
export const Public = (): ClassDecorator & MethodDecorator => SetMetadata(PUBLIC_ROUTE, true);
