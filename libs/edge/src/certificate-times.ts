import type { X509Certificate } from 'node:crypto';

/** From when and until when a certificate is good. */
export interface CertificateTimes {
  readonly fromMs: number;
  readonly untilMs: number;
}

export function timesOf({ validFrom, validTo }: X509Certificate): CertificateTimes {
  return { fromMs: Date.parse(validFrom), untilMs: Date.parse(validTo) };
}

export function isGoodAt({ fromMs, untilMs }: CertificateTimes, nowMs: number): boolean {
  return nowMs >= fromMs && nowMs < untilMs;
}
