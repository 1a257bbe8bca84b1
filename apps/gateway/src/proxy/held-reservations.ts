import type { Admission } from './admission.js';
import type { DataPlane } from './data-plane.js';
import type { MerchantLoad } from './sharing/merchant-load.js';
import { WatchedAnswer } from './bodies/watched-answer.js';

/** What was taken for a request, until it is known whether it stays taken. */
export type Reservations = NonNullable<Extract<Admission, { forward: true }>['reservations']>;

export const NO_RESERVATIONS: Reservations = [];

/** Watches the answer if a reservation waits for it; null if none does. */
export function watchedAnswer(reservations: Reservations, plane: DataPlane, load: MerchantLoad): WatchedAnswer | null {
  let readsHead = false;
  let readsBody = false;
  for (const { readsAnswer } of reservations) {
    readsHead ||= readsAnswer === 'head';
    readsBody ||= readsAnswer === 'body';
  }
  return readsHead || readsBody ? new WatchedAnswer(plane, load, readsBody) : null;
}

/** @param isUnused the upstream has seen nothing of the request */
export function settle(reservations: Reservations, isUnused: boolean, watched: WatchedAnswer | null): void {
  const answer = watched?.facts();
  for (const reservation of reservations) {
    if (isUnused) reservation.refund();
    else reservation.release(answer);
  }
}
