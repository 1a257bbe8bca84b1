import { counterBy } from '#metrics';
import type { Registry } from 'prom-client';

/** Preflight requests so far: of merchants that were known, and of nobody in particular. */
export class PreflightCounts {
  named = 0;
  anonymous = 0;

  register(registry: Registry): void {
    counterBy(
      registry,
      'tollgate_preflights_total',
      'Preflight requests of browsers, by whether a merchant was named.',
      ['merchant'],
      () => [
        [['named'], this.named],
        [['anonymous'], this.anonymous],
      ],
    );
  }
}
