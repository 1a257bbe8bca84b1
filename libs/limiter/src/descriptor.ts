/** The facts of a request that rules look at. */
export interface Descriptor {
  readonly merchantId: string;
  /** The client's address, in one spelling for each address. */
  readonly ip: string;
  /** HTTP method, in capitals. */
  readonly method: string;
  /** Request target in origin form, as it is forwarded. */
  readonly target: string;
  /** Whether rules do not tell upper from lower case in the path. */
  readonly ignorePathCase?: boolean;
}
