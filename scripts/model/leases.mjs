/** What is asked of docs/models/leases.pml. */
import { join } from 'node:path';
import { ROOT } from '../paths.mjs';

export const MODEL = join(ROOT, 'docs', 'models', 'leases.pml');

/** @typedef {import('./spin.mjs').Run & { title: string }} Question */

/** What must hold in every state. @type {Question[]} */
export const CLAIMS = [
  { id: 'law', title: 'two gateways keep both laws, whatever is lost, late or dead', defines: ['CAPACITY=2'] },
  { id: 'edit', title: 'also when an edit halves the capacity', defines: ['CAPACITY=2', 'EDITS'] },
  { id: 'clock', title: "also when the store's clock steps back", defines: ['CAPACITY=2', 'STEPS'] },
  { id: 'recovery', title: 'a bucket that nobody asks fills up', defines: ['CAPACITY=2', 'RECOVERS'] },
  { id: 'price', title: 'without failures at most one share is lost', defines: ['PRICE'] },
];

/** The same with larger numbers, which take minutes and gigabytes. @type {Question[]} */
export const LONG_CLAIMS = [
  { id: 'law-of-four', title: 'a capacity of four tokens', defines: [] },
  { id: 'law-of-a-longer-lease', title: 'leases of three ticks', defines: ['CAPACITY=2', 'HORIZON=3'] },
  { id: 'law-of-three', title: 'three gateways, leases of one tick', defines: ['CAPACITY=2', 'N=3', 'HORIZON=1'] },
];

/** Protocols that lack one part. The checker must find what goes wrong; each trace is replayed on the stores. @type {Question[]} */
export const VARIANTS = [
  variant('what is lent does not occupy the bucket', 'NO_CEILING', 'WRONG_STORE'),
  variant('a call is carried out after a later one', 'NO_SEQUENCE', 'WRONG_STORE', 'CAPACITY=2'),
  variant('more is given back than is lent', 'UNBOUNDED_RETURN', 'WRONG_STORE', 'CAPACITY=2'),
  variant('a lease that ends without a word is given back', 'LAPSE_IS_RETURNED', 'WRONG_STORE'),
  variant('a reset fills the bucket over what is lent', 'RESET_FORGETS', 'WRONG_STORE'),
  variant('an edit forgets what is lent', 'EDIT_FORGETS_LEASES', 'WRONG_STORE', 'EDITS'),
  variant('the lease of a dead gateway has no end', 'NEVER_ENDS', 'WRONG_STORE', 'RECOVERS'),
  variant('what is given back is lost', 'RETURN_IS_SPENT', 'WRONG_STORE', 'PRICE'),
  variant('gateways may hold all that there is', 'UNBOUNDED_SHARE', 'WRONG_STORE', 'PRICE'),
  variant('a gateway counts its lease from the answer', 'COUNTS_FROM_ANSWER'),
  variant('a gateway takes the answer to a call that it gave up', 'TAKES_LATE_ANSWERS', 'CAPACITY=2'),
  variant('the clock of a suspended gateway stands still', 'CLOCK_STOPS_IN_SUSPENSION', 'CAPACITY=2'),
  variant('an answer revives a lease that was over', 'REVIVES_LEASES', 'CAPACITY=2'),
  variant('a refund goes into a lease that has reported since', 'REFUNDS_AFTER_REPORT', 'CAPACITY=2'),
  variant('a gateway refuses without asking', 'REFUSES_ALONE'),
];

/** Ways through the right protocol that are drawn, and replayed too. */
export const WALKS = [1, 2, 3, 4, 5, 6].map((seed) => ({
  id: `walk-${seed}`,
  title: `a way through the protocol${seed > 4 ? ' with an edit' : ''}`,
  defines: seed > 4 ? ['CALM', 'EDITS'] : ['CALM'],
  seed,
}));

/**
 * @param {string} title
 * @param {string} name
 * @param {string[]} more
 * @returns {Question}
 */
function variant(title, name, ...more) {
  return { id: name.toLowerCase().replaceAll('_', '-'), title, defines: [name, ...more] };
}
