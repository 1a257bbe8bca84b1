/** A client of gRPC that knows nothing but the published messages, and one that sends bytes. */
import { connect, type SecureClientSessionOptions } from 'node:http2';
import { join } from 'node:path';
import { type CallOptions, Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { loadSync, type ServiceDefinition } from '@grpc/proto-loader';
import { ROOT } from '../../scripts/paths.mjs';

/** As a stock client reads the files of proto/. */
export function serviceOf(file: string, name: string, folder = join(ROOT, 'proto')): ServiceDefinition {
  const options = { keepCase: false, longs: Number, enums: String, defaults: false, oneofs: true, includeDirs: [folder] };
  return loadSync(file, options)[name] as ServiceDefinition;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- what a server has answered: a field that is not there fails the test
type Answered = any;

/** Calls a unary method. Resolves with the message, or with the status if there is none. */
export function unary(
  client: Client,
  service: ServiceDefinition,
  method: string,
  message: object,
  metadata: Metadata,
  options: CallOptions = {},
): Promise<Answered> {
  const { path, requestSerialize, responseDeserialize } = service[method]!;
  return new Promise((resolve) => {
    const answered = (error: ServiceError | null, value?: object): void => resolve(error ?? value);
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, message, metadata, options, answered);
  });
}

export const clientOf = (port: number): Client => new Client(`127.0.0.1:${port}`, credentials.createInsecure());

/** Sends bytes as they are on a connection of its own, and resolves with the status of gRPC or HTTP, or with what became of the stream. */
export function sendBytes(
  port: number,
  path: string,
  bytes: Uint8Array,
  headers: Record<string, string>,
  tls?: SecureClientSessionOptions,
): Promise<{ status: number; grpc: string | undefined; message: string | undefined }> {
  return new Promise((resolve, reject) => {
    const session = connect(`${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`, tls);
    session.on('error', reject);
    const known = { 'content-type': 'application/grpc', te: 'trailers' };
    const stream = session.request({ ':method': 'POST', ':path': path, ...known, ...headers });
    const found = { status: 0, grpc: undefined as string | undefined, message: undefined as string | undefined };
    const note = (received: Record<string, unknown>): void => {
      found.status = Number(received[':status'] ?? found.status);
      found.grpc = (received['grpc-status'] as string | undefined) ?? found.grpc;
      found.message = (received['grpc-message'] as string | undefined) ?? found.message;
    };
    stream.on('response', note);
    stream.on('trailers', note);
    stream.on('error', () => {});
    stream.on('data', () => {});
    stream.on('close', () => {
      session.destroy();
      resolve(found);
    });
    stream.end(bytes);
  });
}

/** A message with the five bytes that stand before it. */
export function framed(message: Uint8Array, { length = message.length, compressed = 0 } = {}): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(compressed, 0);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

interface Reflection {
  readonly listServicesResponse?: { readonly service: readonly { readonly name: string }[] };
  readonly fileDescriptorResponse?: { readonly fileDescriptorProto: readonly Buffer[] };
}

/** What a server tells of itself without a token: its services, and the files that say what `tollgate.v1.DecisionService` is. */
export async function reflected(client: Client): Promise<{ services: string[]; file: Buffer }> {
  const folder = join(ROOT, 'node_modules/@grpc/reflection/build/proto');
  const service = serviceOf('grpc/reflection/v1/reflection.proto', 'grpc.reflection.v1.ServerReflection', folder);
  const { path, requestSerialize, responseDeserialize } = service['ServerReflectionInfo']!;
  const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, new Metadata());
  const answers: Reflection[] = [];
  stream.on('data', (answer: Reflection) => answers.push(answer)).on('error', () => {});
  stream.write({ listServices: '' });
  stream.write({ fileContainingSymbol: 'tollgate.v1.DecisionService' });
  stream.end();
  await new Promise((resolve) => stream.on('status', resolve));
  return {
    services: answers[0]?.listServicesResponse?.service.map(({ name }) => name) ?? [],
    file: Buffer.concat(answers[1]?.fileDescriptorResponse?.fileDescriptorProto ?? []),
  };
}
