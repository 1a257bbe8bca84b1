/** What has become of tokens that a process decided about by itself, since it started. */
export class LeaseCounts {
  /** Calls by which the store was told, or asked for more. */
  reports = 0;
  /** Tokens that the store has lent. */
  lent = 0;
  /** Spent from leases. */
  spent = 0;
  /** Spent here and put back here, because a request did not need them. */
  putBack = 0;
  /** Given back to the store. */
  givenBack = 0;
  /** Of leases that ended, or that an edit has ended, before their tokens were spent or given back. */
  lapsed = 0;
  /** Requests that the store has refused for want of tokens of a bucket of which others held some, as was last heard. */
  refusedWhileLent = 0;
  /** Tokens spent by optimistic rules that the store did not have when it was told. */
  overdrawn = 0;
}
