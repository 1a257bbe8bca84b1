/** Links between the pages of this repository lead somewhere, and the contents of the operations page name each of its sections. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { ROOT } from '../../scripts/paths.mjs';

/** Folders with pages of ours. */
const FOLDERS = ['apps', 'bench', 'deploy', 'docs', 'examples', 'fuzz', 'integrations', 'libs', 'locust', 'proto', '.github'].filter(
  (folder) => existsSync(join(ROOT, folder)),
);

const filesOf = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'node_modules') return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesOf(path) : [path];
  });

const PAGES = [...readdirSync(ROOT).map((name) => join(ROOT, name)), ...FOLDERS.flatMap((folder) => filesOf(join(ROOT, folder)))].filter(
  (path) => path.endsWith('.md'),
);

/** Without blocks of code, in which nothing is a link or a heading. */
const textOf = (page: string): string => readFileSync(page, 'utf8').replace(/^```[^]*?^```$/gm, '');

/** As GitHub names a heading. */
const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\-_ ]/gu, '')
    .replace(/ /g, '-');

const headings = (text: string, level = '#{1,6}'): string[] =>
  [...text.matchAll(new RegExp(`^${level} (.*)$`, 'gm'))].map(([, heading = '']) => heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1'));

/** What stands in parentheses behind a text in brackets; not addresses of other servers. */
const linksOf = (text: string): string[] =>
  [...text.matchAll(/\]\(([^()\s]+)\)/g)].map(([, link = '']) => link).filter((link) => !/^[a-z]+:/.test(link));

function isDead(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : join(dirname(page), path);
  if (!existsSync(target)) return true;
  return anchor !== undefined && !headings(textOf(target)).some((heading) => anchorOf(heading) === anchor);
}

test('every link between pages leads to a file and a heading that exist', () => {
  const dead = PAGES.flatMap((page) =>
    linksOf(textOf(page))
      .filter((link) => isDead(page, link))
      .map((link) => `${relative(ROOT, page)}: ${link}`),
  );
  expect(dead).toEqual([]);
  expect(PAGES.length).toBeGreaterThan(100);
});

test('the contents of the operations page name each section, in the order of the page', () => {
  const text = textOf(join(ROOT, 'docs/operations.md'));
  const sections = headings(text, '##').map(anchorOf);
  const contents = linksOf(text.slice(0, text.indexOf('\n## ')))
    .filter((link) => link.startsWith('#'))
    .map((link) => link.slice(1));
  expect(contents.filter((anchor) => sections.includes(anchor))).toEqual(sections);
});
