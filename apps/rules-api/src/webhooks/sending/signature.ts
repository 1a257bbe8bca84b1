import { createHmac } from 'node:crypto';

export interface SignedMessage {
  /** The same for each attempt, so that a receiver knows what it got already. */
  readonly id: string;
  readonly body: string;
  /** Of this attempt. */
  readonly atMs: number;
}

/** The headers of Standard Webhooks: one signature for each secret, so that a receiver that still has the former one can check as well. */
export function signatureHeaders({ id, body, atMs }: SignedMessage, secrets: readonly Buffer[]): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1000));
  const signed = `${id}.${timestamp}.${body}`;
  const signatures = secrets.map((secret) => `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`);
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
