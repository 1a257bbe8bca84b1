/**
 * Lets a worker of Jest compile each module once. Every test file has a context of its own, in which each module that it imports is compiled anew: a third of
 * what it costs to load a file. V8 remembers what it has compiled by the text and its host, and to it each of these is another host.
 */
import vm from 'node:vm';

/** What V8 compiled, by the name of a module. @type {Map<string, { readonly code: string, readonly data: Buffer }>} */
const compiled = new Map();

/** Nobody else imports a test. @param {string | undefined} name @returns {name is string} */
const isShared = (name) => name !== undefined && !/\.spec\.ts$/.test(name);

/** @param {string | undefined} name @param {string} code */
const dataOf = (name, code) => {
  const known = isShared(name) ? compiled.get(name) : undefined;
  return known?.code === code ? known.data : undefined;
};

/** What the types of Node lack. @typedef {{ createCachedData(): Buffer }} Cacheable */

const { compileFunction, SourceTextModule } = vm;

class CompiledOnce extends SourceTextModule {
  /** @param {string} code @param {import('node:vm').SourceTextModuleOptions} [options] */
  constructor(code, options = {}) {
    const { identifier } = options;
    const cachedData = dataOf(identifier, code);
    super(code, cachedData === undefined ? options : { ...options, cachedData });
    if (cachedData === undefined && isShared(identifier))
      compiled.set(identifier, { code, data: /** @type {Cacheable} */ (/** @type {unknown} */ (this)).createCachedData() });
  }
}

/** @type {typeof compileFunction} */
const compileOnce = (code, parameters, options = {}) => {
  const name = isShared(options.filename) ? `${options.filename}(${parameters?.join()})` : undefined;
  const cachedData = dataOf(name, code);
  const made = compileFunction(code, parameters, {
    ...options,
    ...(cachedData === undefined ? { produceCachedData: isShared(name) } : { cachedData }),
  });
  if (cachedData === undefined && isShared(name) && made.cachedData) compiled.set(name, { code, data: made.cachedData });
  return made;
};

Object.assign(vm, { SourceTextModule: CompiledOnce, compileFunction: compileOnce });
