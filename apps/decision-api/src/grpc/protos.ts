import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadSync, type MessageTypeDefinition, type PackageDefinition, type ServiceDefinition } from '@grpc/proto-loader';

/** The published files of all services that this app answers. */
export const FILES = [
  'tollgate/v1/decision.proto',
  'envoy/service/ratelimit/v3/rls.proto',
  'envoy/service/auth/v3/external_auth.proto',
  'google/rpc/status.proto',
  'google/rpc/error_details.proto',
];

/** 64-bit numbers are texts, enums are names, what a message does not say is empty, zero or null, and bytes are buffers. */
const FORM = { keepCase: false, longs: String, enums: String, defaults: true, oneofs: false } as const;

let loaded: PackageDefinition | undefined;

/** All messages and services, read once. */
export function protos(): PackageDefinition {
  return (loaded ??= loadSync(FILES, { ...FORM, includeDirs: [protoFolder()] }));
}

/** @param name like tollgate.v1.DecisionService */
export function serviceNamed(name: string): ServiceDefinition {
  return protos()[name] as ServiceDefinition;
}

/** @param name like google.rpc.Status */
export function messageNamed(name: string): MessageTypeDefinition<object, object> {
  return protos()[name] as MessageTypeDefinition<object, object>;
}

/** In the checkout and in the image it stands beside what was built. */
export function protoFolder(): string {
  let at = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(at, 'proto', FILES[0]!))) {
    if (at === dirname(at)) throw new Error('the folder proto is missing');
    at = dirname(at);
  }
  return join(at, 'proto');
}
