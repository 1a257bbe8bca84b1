/**
 * Lets a worker of Jest compile each module once. Every test file has a context of its own, in which each module that it imports is compiled anew: a third of
 * what it costs to load a file. V8 remembers what it has compiled by the text and its host, and to it each of these is another host.
 */
import vm from 'node:vm';

/** What V8 compiled, by the name of a module. @type {Map<string, { readonly code: string, readonly data: Buffer }>} */
const compiled = new Map();

/**
 * Nobody else imports a test. What imports while it runs is told by its host from where, and what was compiled knows the host of before.
 * @param {string | undefined} name
 * @param {string} code
 * @returns {name is string}
 */
const isShared = (name, code) => name !== undefined && !/\.spec\.ts$/.test(name) && !/\bimport\s*\(/.test(code);

/** @param {string | undefined} name @param {string} code */
const dataOf = (name, code) => {
  const known = name === undefined ? undefined : compiled.get(name);
  return known?.code === code ? known.data : undefined;
};

const { compileFunction, SourceTextModule } = vm;

/** @param {string} code @param {import('node:vm').SourceTextModuleOptions} options */
function moduleOf(code, options) {
  const cachedData = dataOf(options.identifier, code);
  if (cachedData === undefined) return undefined;
  try {
    return new SourceTextModule(code, { ...options, cachedData });
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ERR_VM_MODULE_CACHED_DATA_REJECTED') throw error;
    // A test has set an option of V8, and nothing of before counts any more.
    compiled.clear();
    return undefined;
  }
}

/** What the types of Node lack. @typedef {import('node:vm').SourceTextModule & { createCachedData(): Buffer }} Cacheable */

const CompiledOnce = new Proxy(SourceTextModule, {
  construct(_target, /** @type {[string, import('node:vm').SourceTextModuleOptions?]} */ [code, options = {}]) {
    const { identifier } = options;
    const known = moduleOf(code, options);
    if (known !== undefined) return known;
    const made = /** @type {Cacheable} */ (new SourceTextModule(code, options));
    if (isShared(identifier, code)) compiled.set(identifier, { code, data: made.createCachedData() });
    return made;
  },
});

/** @type {typeof compileFunction} */
const compileOnce = (code, parameters, options = {}) => {
  const name = isShared(options.filename, code) ? `${options.filename}(${parameters?.join()})` : undefined;
  const cachedData = dataOf(name, code);
  if (cachedData !== undefined) return compileFunction(code, parameters, { ...options, cachedData });
  const made = compileFunction(code, parameters, { ...options, produceCachedData: name !== undefined });
  if (name !== undefined && made.cachedData) compiled.set(name, { code, data: made.cachedData });
  return made;
};

Object.assign(vm, { SourceTextModule: CompiledOnce, compileFunction: compileOnce });
