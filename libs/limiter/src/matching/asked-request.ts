import { AskedFields } from '../conditions/request-field.js';
import type { Descriptor } from './descriptor.js';
import { pathSegments } from './path-pattern.js';

/** A request as rules are matched with it. */
export class AskedRequest {
  readonly ignoreCase: boolean;
  /** Of the path. Empty where no rule looks at it, so that it is not taken apart. */
  readonly segments: readonly string[];
  private madeFields: AskedFields | undefined;

  constructor(
    readonly descriptor: Descriptor,
    /** Since 1970. Asked for once, and only where a rule depends on the time. */
    readonly nowMs: number,
    pathless = false,
  ) {
    this.ignoreCase = descriptor.ignorePathCase ?? false;
    this.segments = pathless ? NO_SEGMENTS : pathSegments(descriptor.target, this.ignoreCase);
  }

  get method(): string {
    return this.descriptor.method;
  }

  /** Made when a rule first looks at them. */
  get fields(): AskedFields {
    return (this.madeFields ??= new AskedFields(this.descriptor));
  }
}

const NO_SEGMENTS: readonly string[] = [];
