import { counterBy, gauge } from '#metrics';
import type { Registry } from 'prom-client';
import type { Issuer } from './issuer.js';

/** Registered without an issuer too, so that dashboards and alerts find it. */
export function registerIssuer(registry: Registry, issuer: Issuer | undefined): void {
  gauge(
    registry,
    'tollgate_jwks_age_seconds',
    'Since the keys of the issuer of tokens were fetched.',
    () => issuer?.keys.ageSeconds ?? 0,
    'max',
  );
  counterBy(registry, 'tollgate_jwks_fetches_total', 'Fetches of the keys of the issuer of tokens, by their outcome.', ['outcome'], () =>
    (['fetched', 'failed'] as const).map((outcome) => [[outcome], issuer?.keys.counts[outcome] ?? 0] as const),
  );
}
