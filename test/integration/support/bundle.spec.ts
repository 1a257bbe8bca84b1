import { isAscii } from 'node:buffer';
import { existsSync, readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload, type SourceMapping } from 'node:module';
import { dirname, relative, resolve } from 'node:path';
import { BUNDLED, bundleOf, DIST, ROOT } from '../../../scripts/paths.mjs';

/** A class that is decorated, one that is exported, and one that nobody outside of its file knows. */
const CLASSES = ['GatewayModule', 'DataPlane', 'MerchantQueue'];

describe('the file into which an app is built', () => {
  const lines = readFileSync(bundleOf('gateway'), 'utf8').split('\n');
  const map = new SourceMap(JSON.parse(readFileSync(`${bundleOf('gateway')}.map`, 'utf8')) as SourceMapPayload);

  it.each(CLASSES)('leads from the line of class %s to that of its source', (name) => {
    const line = lines.findIndex((text) => text.includes(`${name} = class `));
    const entry = map.findEntry(line, lines[line]!.indexOf('class ')) as SourceMapping;
    const source = resolve(DIST, entry.originalSource);
    expect(relative(ROOT, dirname(source))).toMatch(/^(apps|libs)\//);
    expect(readFileSync(source, 'utf8').split('\n')[entry.originalLine]).toContain(`class ${name}`);
  });

  it.each(BUNDLED)('names each class of %s as its source does', (app) => {
    const text = readFileSync(bundleOf(app), 'utf8');
    const renamed = [...text.matchAll(/\bclass (\w+?)\d+ (?:extends .+ )?\{\n(.*\n.*)\n/g)];
    expect(renamed.length).toBeGreaterThan(0);
    expect(renamed.filter(([, name, body]) => !body!.includes(`__nameOfClass(this, "${name}`)).map(([head]) => head)).toEqual([]);
  });

  it.each(BUNDLED)('is ASCII: V8 would hold %s with two bytes for each character otherwise', (app) => {
    expect(isAscii(readFileSync(bundleOf(app)))).toBe(true);
  });

  it('leaves the lines of packages as they are', () => {
    const line = lines.findIndex((text) => text.includes('var require_client = __commonJS'));
    expect(line).toBeGreaterThan(0);
    expect(map.findEntry(line, 0)).not.toHaveProperty('originalSource', expect.any(String));
  });

  it.each(BUNDLED)('has nothing of other packages in the map of %s, which would be read into memory at each start', (app) => {
    const { sources } = JSON.parse(readFileSync(`${bundleOf(app)}.map`, 'utf8')) as { sources: string[] };
    expect(sources.filter((source) => !existsSync(resolve(DIST, source)) || source.includes('node_modules'))).toEqual([]);
    expect(sources).toContain('../libs/platform/src/problem.ts');
  });
});
