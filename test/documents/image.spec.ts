import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../scripts/paths.mjs';

const linesOf = (file: string) => readFileSync(join(ROOT, file), 'utf8').split('\n');

/** What the Dockerfile copies from the checkout. */
const copied = linesOf('Dockerfile')
  .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
  .flatMap((line) => line.split(/\s+/).slice(1, -1));

test.each(copied)('the image can be built: %s is there, and is handed to the builder', (source) => {
  expect(existsSync(join(ROOT, source))).toBe(true);
  expect(linesOf('.dockerignore')).toContain(`!${source}`);
});
