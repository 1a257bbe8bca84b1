/** A proxy that is asked in HTTP/1.1. */
import { caseOf } from './grammar.mjs';
import { faultsOf } from './judge.mjs';

/** @param {import('./bed.mjs').FuzzBed} bed @returns {import('../shared/fuzz.mjs').Subject<import('./grammar.mjs').Case, import('./bed.mjs').Seen>} */
export const http1Subject = (bed) => ({
  caseOf,
  faultsOf,
  run: (testCase) => bed.run(testCase),
  hasRefusal: ({ answers }) => /HTTP\/1\.1 [45]/.test(answers),
});
