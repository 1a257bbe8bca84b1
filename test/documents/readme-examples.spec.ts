/** The examples on the pages of the libs compile against what the libs export, and the limiter's prints what the page says. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import * as ts from 'typescript';
import { ROOT } from '../../scripts/paths.mjs';

const LIBS = readdirSync(join(ROOT, 'libs'));

const exampleOf = (lib: string): string => /```ts\n([^]*?)```/.exec(readFileSync(join(ROOT, 'libs', lib, 'README.md'), 'utf8'))?.[1] ?? '';

test('every lib has a page with an example, and the examples compile', () => {
  const sources = new Map(LIBS.map((lib) => [join(ROOT, 'libs', `${lib}-example.mts`), exampleOf(lib)]));
  expect([...sources].filter(([, text]) => text === '')).toEqual([]);
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (file) => ts.sys.readFile(file)) as {
    config: { compilerOptions: object };
  };
  const { options } = ts.convertCompilerOptionsFromJson(
    { ...config.compilerOptions, incremental: false, tsBuildInfoFile: undefined },
    ROOT,
  );
  const host = ts.createCompilerHost(options);
  const onDisk = { ...host };
  host.readFile = (file) => sources.get(file) ?? onDisk.readFile(file);
  host.fileExists = (file) => sources.has(file) || onDisk.fileExists(file);
  const program = ts.createProgram([...sources.keys()], options, host);
  const faults = [...sources.keys()].flatMap((file) => ts.getPreEmitDiagnostics(program, program.getSourceFile(file)));
  expect(faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([]);
}, 60_000);

test('the example of the limiter prints what its page says', async () => {
  const text = exampleOf('limiter');
  const printed: string[] = [];
  const log = jest.spyOn(console, 'log').mockImplementation((...values: unknown[]) => void printed.push(values.join(' ')));
  try {
    const [, names, body] = /^import (\{.*\}) from '#limiter';\n([^]*)/.exec(text)!;
    // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the page is run as its reader would run it
    new Function('lib', `const ${names} = lib;\n${body}`)(await import('#limiter'));
  } finally {
    log.mockRestore();
  }
  expect(printed.join(', ')).toBe(/^\/\/ (.*)$/m.exec(text)?.[1]);
});
