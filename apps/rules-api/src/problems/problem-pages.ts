import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROBLEM_TYPE_NAMES } from '#platform';

/** The page of each problem type. */
export type ProblemPages = ReadonlyMap<string, string>;

export const PROBLEM_PAGES = Symbol('problem pages');

/** Where the pages lie below the root of the repository, or of the image. */
const FOLDER = 'docs/problems';

/** @throws Error if a page is missing */
export function readProblemPages(): ProblemPages {
  const folder = join(rootFolder(), FOLDER);
  return new Map(PROBLEM_TYPE_NAMES.map((type) => [type, readFileSync(join(folder, `${type}.md`), 'utf8')]));
}

/** Sources and compiled files lie at different depths. */
function rootFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, FOLDER))) {
    const above = dirname(folder);
    if (above === folder) throw new Error(`the folder ${FOLDER} is missing`);
    folder = above;
  }
  return folder;
}
