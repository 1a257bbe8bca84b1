import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PackageDefinition } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import protobuf from 'protobufjs';
import { protoFolder } from './protos.js';

/**
 * Server reflection: the published files as protoc describes them. What @grpc/proto-loader makes of them has no imports and no absolute names, and clients in Go
 * refuse it (grpc-node issue 2595).
 */
export function reflection(): ReflectionService {
  // Of a definition it reads nothing but the files.
  const published = { fileDescriptorProtos: describedFiles() } as PackageDefinition[string];
  return new ReflectionService({ published });
}

/** A google.protobuf.FileDescriptorProto each. The file is a FileDescriptorSet, which has them in its one field, and is written by `npm run descriptors`. */
export function describedFiles(): Buffer[] {
  const reader = protobuf.Reader.create(readFileSync(join(protoFolder(), 'descriptors.binpb')));
  const files: Buffer[] = [];
  while (reader.pos < reader.len) {
    reader.uint32();
    files.push(Buffer.from(reader.bytes()));
  }
  return files;
}
