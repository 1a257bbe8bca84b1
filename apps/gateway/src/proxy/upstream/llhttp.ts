import { createRequire } from 'node:module';

/**
 * Node's own parser of HTTP/1.1, in the build that undici ships and reads answers with; undici's version is pinned. What the module exports is the bytes
 * themselves: an import would take each of the 54,202 for an export with a name, which costs ten megabytes and a twentieth of a second.
 */
const wasm = createRequire(import.meta.url)('undici/lib/llhttp/llhttp_simd-wasm.js') as Uint8Array;

/** What of it is used; the types of node only know that it exists. */
interface WebAssemblyOfNode {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: object };
}

/** What of the built module is used. Addresses are in its memory. */
export interface Llhttp {
  readonly memory: { readonly buffer: ArrayBuffer };
  malloc(bytes: number): number;
  free(address: number): void;
  llhttp_alloc(type: number): number;
  llhttp_free(parser: number): void;
  llhttp_execute(parser: number, bytes: number, length: number): number;
  llhttp_finish(parser: number): number;
  llhttp_resume(parser: number): void;
  llhttp_get_error_pos(parser: number): number;
  llhttp_get_error_reason(parser: number): number;
}

/** It is told of what the module has read, in a chunk that lies at an address that only its caller knows. 0: go on. */
export interface LlhttpEvents {
  wasm_on_message_begin(parser: number): number;
  wasm_on_header_field(parser: number, at: number, length: number): number;
  wasm_on_header_value(parser: number, at: number, length: number): number;
  wasm_on_headers_complete(parser: number, status: number, upgrade: number, shouldKeepAlive: number): number;
  wasm_on_body(parser: number, at: number, length: number): number;
  wasm_on_message_complete(parser: number): number;
}

const goOn = (): number => 0;

export function openLlhttp(events: LlhttpEvents): Llhttp {
  const { Instance, Module } = (globalThis as unknown as { WebAssembly: WebAssemblyOfNode }).WebAssembly;
  const { exports } = new Instance(new Module(wasm), { env: { wasm_on_url: goOn, wasm_on_status: goOn, ...events } });
  return exports as Llhttp;
}
