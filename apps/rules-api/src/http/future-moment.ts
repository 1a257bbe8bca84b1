import { badBody } from './validation.pipe.js';

/**
 * The moment at which a secret is to expire; null without one.
 *
 * @param code what codes of faults begin with
 * @throws ProblemError 400 if it has passed
 */
export function futureMoment(expiresAt: string | undefined, code: string): Date | null {
  if (expiresAt === undefined) return null;
  const moment = new Date(expiresAt);
  if (moment.getTime() > Date.now()) return moment;
  const detail = `must be in the future, got ${JSON.stringify(expiresAt)}`;
  throw badBody([{ pointer: '/expiresAt', code: `${code}.expiresAt.out_of_range`, detail }]);
}
