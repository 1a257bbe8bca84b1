import { counter, counterBy, gauge } from '#metrics';
import type { Registry } from 'prom-client';
import type { CountryFile } from './country-file.js';

/** Registered without a file too, so that dashboards and alerts find it. */
export function registerCountryFile(registry: Registry, file: CountryFile | undefined): void {
  gauge(registry, 'tollgate_country_file_age_seconds', 'Since the file of countries in use was made.', () => file?.ageSeconds ?? 0, 'max');
  counterBy(registry, 'tollgate_country_file_reads_total', 'Readings of the file of countries, by their outcome.', ['outcome'], () =>
    (['read', 'failed'] as const).map((outcome) => [[outcome], file?.counts[outcome] ?? 0] as const),
  );
  counter(
    registry,
    'tollgate_country_lookup_failures_total',
    'Addresses at whose record the file of countries is broken.',
    () => file?.counts.broken_record ?? 0,
  );
}
