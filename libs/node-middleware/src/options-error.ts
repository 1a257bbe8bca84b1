import type { Fault } from '#limiter';

/** What is wrong with an option. */
export interface OptionFault {
  /** Like `rules[0].limits[0].capacity`. */
  readonly at: string;
  readonly detail: string;
}

/** Options that cannot be meant. The message names every one that is wrong; secrets are not quoted. */
export class OptionsError extends Error {
  constructor(readonly faults: readonly OptionFault[]) {
    super(`the options of tollgate are wrong: ${faults.map(({ at, detail }) => (at === '' ? detail : `${at} ${detail}`)).join('; ')}`);
    this.name = 'OptionsError';
  }
}

/** Faults with the places at which programmers look: pointers become what one writes in code. */
export function placed(faults: readonly Fault[], at: string): OptionFault[] {
  return faults.map(({ pointer, detail }) => ({ at: placeOf(pointer, at), detail }));
}

function placeOf(pointer: string, at: string): string {
  const steps = pointer.split('/').slice(1);
  const place = steps.map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step.replaceAll('~1', '/').replaceAll('~0', '~')}`)).join('');
  return at === '' ? place.replace(/^\./, '') : at + place;
}
