import { type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Public } from '#platform';
import { BearerTokenGuard } from './bearer-token.guard.js';

class Closed {
  handler(): void {}
}

@Public()
class Open {
  handler(): void {}
}

const guard = new BearerTokenGuard('the-right-token-1', new Reflector());

/** What the guard reads of Nest's context. */
function contextOf(type: typeof Closed, authorization?: string): ExecutionContext {
  return {
    getClass: () => type,
    getHandler: () => Object.getOwnPropertyDescriptor(type.prototype, 'handler')?.value as () => void,
    switchToHttp: () => ({ getRequest: () => ({ headers: { authorization } }) }),
  } as unknown as ExecutionContext;
}

describe('BearerTokenGuard', () => {
  it.each(['Bearer the-right-token-1', 'bearer the-right-token-1', 'Bearer   the-right-token-1 '])('accepts %p', (authorization) => {
    expect(guard.canActivate(contextOf(Closed, authorization))).toBe(true);
  });

  it.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'the-right-token-1',
    'Basic the-right-token-1',
    'Bearer the-right-token-2',
    'Bearer the-right-token-11',
    'Bearer the right-token-1',
  ])('refuses %p with a challenge', (authorization) => {
    expect(() => guard.canActivate(contextOf(Closed, authorization))).toThrow(
      expect.objectContaining({
        status: 401,
        headers: { 'www-authenticate': expect.stringMatching(/^Bearer realm="tollgate"/) as string },
      }) as Error,
    );
  });

  it('requires no token on a public route', () => expect(guard.canActivate(contextOf(Open))).toBe(true));
});
