/**
 * Compiles TypeScript for Jest as @swc/jest does, and lets each module keep the built-in objects that it names. Every test file has a context of its own, in
 * which Node looks up each name of the global object by a call: a loop over `Math.imul` takes eighty times as long there as in the product.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import swc from '@swc/jest';

/**
 * What Jest asks of a compiler; the arguments are passed on as they come.
 * @typedef {{ code: string }} Compiled
 * @typedef {{
 *   process(...args: unknown[]): Compiled,
 *   processAsync(...args: unknown[]): Promise<Compiled>,
 *   getCacheKey(...args: unknown[]): string,
 * }} Compiler
 */

/** What Jest has stored is compiled again when this file changes. */
const OWN_TEXT = readFileSync(new URL(import.meta.url), 'utf8');

/** @param {Compiled} compiled */
const kept = (compiled) => ({ ...compiled, code: keepingBuiltIns(compiled.code) });

/** Tests replace clocks and timers, and none of these. */
const KEPT = [
  ...'Array BigInt Buffer Error Float64Array Infinity Int32Array JSON Map Math NaN Number Object Promise Proxy'.split(' '),
  ...'RangeError Reflect RegExp Set String Symbol TypeError Uint32Array Uint8Array WeakMap'.split(' '),
];

/**
 * The names stand on the first line, so that every line keeps its number in a stack.
 * @param {string} code an ES module
 */
function keepingBuiltIns(code) {
  const named = KEPT.filter((name) => new RegExp(`\\b${name}\\b`).test(code) && !isDeclared(name, code));
  return named.length === 0 ? code : `const { ${named.join(', ')} } = globalThis; ${code}`;
}

/**
 * What a module declares itself, in a line that is not indented. Where this misses one, the module fails to load and says so.
 * @param {string} name
 * @param {string} code
 */
const isDeclared = (name, code) =>
  new RegExp(`^(export )?(default )?(async )?(const|let|var|class|function|import)\\b[^=(\\n]*\\b${name}\\b`, 'm').test(code);

export default {
  createTransformer() {
    const compiler = /** @type {Compiler} */ (/** @type {unknown} */ (swc.createTransformer()));
    return {
      canInstrument: false,
      process: (/** @type {unknown[]} */ ...args) => kept(compiler.process(...args)),
      processAsync: async (/** @type {unknown[]} */ ...args) => kept(await compiler.processAsync(...args)),
      getCacheKey: (/** @type {unknown[]} */ ...args) =>
        createHash('sha256')
          .update([OWN_TEXT, compiler.getCacheKey(...args)].join('\0'))
          .digest('hex'),
    };
  },
};
