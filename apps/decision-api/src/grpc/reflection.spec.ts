import { loadSync, loadFileDescriptorSetFromBuffer, type MessageTypeDefinition, type PackageDefinition } from '@grpc/proto-loader';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FileDescriptorProto, type IDescriptorProto, type IFileDescriptorProto } from 'protobufjs/ext/descriptor/index.js';
import { FILES, protoFolder } from './protos.js';
import { describedFiles } from './reflection.js';

type Described = MessageTypeDefinition<object, object> & { readonly type: IDescriptorProto };

/** Of each message of our own and of Envoy: the fields with their numbers, types and labels. */
function fieldsOf(loaded: PackageDefinition): Record<string, unknown> {
  const isMessage = ([name, { format }]: [string, { format?: unknown }]) =>
    format === 'Protocol Buffer 3 DescriptorProto' && !/^(google|grpc)\./.test(name);
  return Object.fromEntries(
    Object.entries(loaded)
      .filter(isMessage)
      .map(([name, message]) => [
        name,
        (message as Described).type.field?.map(({ name: field, number, type, label }) => `${field} ${number} ${type} ${label}`).sort(),
      ]),
  );
}

const files = describedFiles().map((bytes) => FileDescriptorProto.decode(bytes) as IFileDescriptorProto);

test('what reflection tells is what the published files say', () => {
  const described = loadFileDescriptorSetFromBuffer(readFileSync(join(protoFolder(), 'descriptors.binpb')));
  const published = fieldsOf(loadSync(FILES, { keepCase: true, includeDirs: [protoFolder()] }));
  expect(Object.keys(published).length).toBeGreaterThan(20);
  expect(fieldsOf(described)).toEqual(published);
});

test('each file names what it imports, behind which it stands, and each type by its whole name', () => {
  const before = new Set<string>();
  const defined = new Set<string>();
  for (const { name, package: space, dependency, messageType, enumType, service } of files) {
    for (const each of dependency ?? []) expect(before).toContain(each);
    before.add(name!);
    const define = (prefix: string, { name: own, nestedType, enumType: enums }: IDescriptorProto) => {
      const whole = `${prefix}.${own}`;
      defined.add(whole);
      for (const each of enums ?? []) defined.add(`${whole}.${each.name}`);
      for (const each of nestedType ?? []) define(whole, each);
    };
    for (const each of enumType ?? []) defined.add(`.${space}.${each.name}`);
    for (const each of messageType ?? []) define(`.${space}`, each);
    const used = (message: IDescriptorProto): string[] => [
      ...(message.field ?? []).flatMap(({ typeName }) => (typeName ? [typeName] : [])),
      ...(message.nestedType ?? []).flatMap(used),
    ];
    const asked = (service ?? []).flatMap(({ method }) => method ?? []).flatMap(({ inputType, outputType }) => [inputType!, outputType!]);
    for (const type of [...(messageType ?? []).flatMap(used), ...asked]) expect(defined).toContain(type);
  }
  expect([...before]).toEqual(expect.arrayContaining(['tollgate/v1/decision.proto', 'health/v1/health.proto']));
});
