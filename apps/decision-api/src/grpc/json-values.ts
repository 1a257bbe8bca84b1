/** google.protobuf.Value and Struct, as they are decoded. One member is there. */
export interface ProtobufValue {
  readonly nullValue?: unknown;
  readonly numberValue?: number;
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly structValue?: ProtobufStruct | null;
  readonly listValue?: { readonly values: readonly ProtobufValue[] } | null;
}

export interface ProtobufStruct {
  readonly fields: Readonly<Record<string, ProtobufValue>>;
}

/** JSON that a message carries. What is nested too deep was not decoded. */
export function jsonOf(value: ProtobufValue): unknown {
  if (value.structValue) return objectOf(value.structValue);
  if (value.listValue) return value.listValue.values.map(jsonOf);
  return value.stringValue ?? value.numberValue ?? value.boolValue ?? null;
}

export function objectOf({ fields }: ProtobufStruct): Record<string, unknown> {
  // From entries: a name may be __proto__.
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, jsonOf(value)]));
}

/** A google.protobuf.Duration. */
export function durationOf(ms: number): { readonly seconds: number; readonly nanos: number } {
  const seconds = Math.floor(ms / 1000);
  return { seconds, nanos: Math.round((ms - seconds * 1000) * 1_000_000) };
}
