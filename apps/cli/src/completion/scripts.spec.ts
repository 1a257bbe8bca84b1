import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { COMMANDS } from '../commands.js';
import { allNodes } from './completion.js';
import { type Node, SCRIPTS } from './scripts.js';

/** What bash offers for the last of these words, by the script as it is printed. */
async function offered(nodes: readonly Node[], ...words: string[]): Promise<string[]> {
  const line = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tollgate; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await promisify(execFile)('bash', ['-c', `${SCRIPTS['bash']!(nodes)}\n${line}`, 'bash', 'tollgate', ...words]);
  return stdout.split('\n').filter(Boolean);
}

describe('the completion of bash', () => {
  let nodes: Node[];
  beforeAll(async () => {
    nodes = await allNodes(COMMANDS);
  });

  it('offers every command, and those that begin as the word does', async () => {
    expect(await offered(nodes, '')).toEqual([...Object.keys(COMMANDS), '--help']);
    expect(await offered(nodes, 'ex')).toEqual(['export', 'explain']);
  });

  it('offers the commands and options of a command, behind values and options too', async () => {
    expect(await offered(nodes, 'override', '')).toEqual(['set', 'list', 'end', '--help']);
    expect(await offered(nodes, 'override', 'set', '--merchant', 'acme', '--m')).toEqual(['--merchant', '--multiply']);
    expect(await offered(nodes, 'apply', 'rules.yaml', '--se')).toEqual(['--select']);
  });

  it('offers nothing of its own where a file is expected', async () => expect(await offered(nodes, 'apply', 'rules')).toEqual([]));
});

test('summaries of any text stay inside their quotes in every shell', async () => {
  const nodes: Node[] = [
    { path: ['x'], words: [] },
    { path: [], words: [{ word: 'x', meaning: `it's $(touch /nonexistent/x) \`date\` \\ "end"` }] },
  ];
  expect(await offered(nodes, '')).toEqual(['x']);
  expect(SCRIPTS['zsh']!(nodes)).toContain(`'x:it'\\''s $(touch /nonexistent/x) \`date\` \\ "end"'`);
  expect(SCRIPTS['fish']!(nodes)).toContain(`-d 'it\\'s $(touch /nonexistent/x) \`date\` \\\\ "end"'`);
});
