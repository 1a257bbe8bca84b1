import { jest } from '@jest/globals';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COMMANDS } from './commands.js';
import { run } from './program.js';

const folder = mkdtempSync(join(tmpdir(), 'tollgate-cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What a command line prints, and its exit code. */
async function tollgate(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const printed = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    jest.spyOn(process[name], 'write').mockImplementation((text) => {
      printed[name] += String(text);
      return true;
    }),
  );
  try {
    process.exitCode = 0;
    await run(args);
    return { code: process.exitCode, ...printed };
  } finally {
    process.exitCode = 0;
    for (const spy of spies) spy.mockRestore();
  }
}

describe('tollgate', () => {
  it('lists its commands and the meaning of exit codes', async () => {
    const { code, stdout } = await tollgate('--help');
    expect(code).toBe(0);
    for (const words of [...Object.keys(COMMANDS), 'Exit codes: 0 if all went well']) expect(stdout).toContain(words);
  });

  it.each(Object.keys(COMMANDS))('explains %s, with an example', async (command) => {
    const { code, stdout } = await tollgate(command, '--help');
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(`Examples:\n  $ npx tollgate ${command}`) as string });
    expect(await tollgate('help', command)).toMatchObject({ code: 0, stdout });
  });

  it.each([
    [[], 'Say which command.'],
    [['weather'], "Unknown command 'weather'"],
    [['preload', '--fast'], "Unknown option '--fast'"],
    [['load', 'burst', 'twice'], 'Too many arguments'],
    [['faults', '--publish', '--only', 'Redis'], '--publish is only for a whole run.'],
    [['get', 'weather'], 'What is listed must be one of merchants, plans, rules, default-rules, tokens; got weather.'],
    [['get', 'rules'], 'rules needs --merchant'],
    [['history'], 'Say of what'],
    [['revert', 'x', '1'], 'It must be a whole number from 1.'],
    [['apply', 'no-such-file.yaml'], 'no-such-file.yaml cannot be read'],
    [['login', 'rules.example.com'], 'must be a URL like https://rules.example.com'],
    [['login', 'https://me:secret@rules.example.com'], 'without a token in it'],
    [['audit', 'verify', '--expect', '7'], 'a number, a colon and 64 hexadecimal digits'],
    [['explain', 'POST'], 'Describe the request'],
    [['explain', 'POST', '/x', '--merchant', 'a', '--header', 'x'], '--header must be like "x-channel: web"; got x.'],
    [['explain', 'POST', '/x', '--merchant', 'a', '--claim', 'scope'], '--claim must be like scope=payments; got scope.'],
    [['explain', 'POST', '/x', '--merchant', 'a', '--api-key-label', 'team=web'], '--api-key-label goes with --api-key.'],
    [['explain', '--request', 'r1', '--merchant', 'a'], '--request names the whole request'],
    [['preview', 'draft.yaml'], 'preview needs --merchant.'],
    [['override'], 'Say which command.'],
    [['override', 'set', '--merchant', 'a', '--rule', '1', '--multiply', '5'], 'needs --until: an override always ends.'],
    [['override', 'set', '--merchant', 'a', '--rule', '1', '--until', 'Monday'], '--until must be a time like'],
    [['override', 'set', '--multiply', '1'], '--multiply must be a whole number from 2 to 1000; got 1.'],
    [['override', 'end', 'x'], 'It must be a whole number from 1.'],
    [['buckets', 'list'], 'buckets list needs --merchant.'],
    [['buckets', 'adjust', '--merchant', 'a', '--tokens', '0'], 'buckets adjust needs --rule.'],
    [['buckets', 'adjust', '--merchant', 'a', '--rule', '1', '--limit', 'l', '--tokens', '0'], 'needs --tokens, and not 0.'],
    [['buckets', 'block', '--for-ms', '0'], '--for-ms must be a whole number from 1'],
    [['usage'], 'Say of what: --merchant ID, or --top.'],
    [['usage', '--top', '--step', 'hour'], '--step goes with --merchant only.'],
    [['buckets', 'list', '--merchant', 'acme', '--key', 'user'], '--key must be a name and a value with = between; got user.'],
    [['preview', 'draft.yaml', '--merchant', 'acme', '--chart', 'a.svg'], '--chart needs --sample or --recorded.'],
    [['tail', '--since', 'yesterday'], '2h, or a time with a zone, like 2026-11-22T10:00:00Z or 2026-11-22T11:00:00+01:00; got yesterday.'],
    [['tail', '--outcome', 'maybe'], '--outcome must be one of refused, passed, all; got maybe.'],
    [['completion', 'cmd'], 'The shell must be one of bash, zsh, fish; got cmd.'],
    [['apply', 'rules.yaml', '--select', 'team'], '--select must be like team=risk; got team.'],
    [['faults', '--seconds', '61'], '--seconds must be a whole number from 1 to 60; got 61.'],
  ])('answers wrong usage with exit code 2 and says what is wrong: %j', async (args, fault) => {
    const { code, stdout, stderr } = await tollgate(...args);
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(fault) as string });
    expect(stderr).toContain('--help explains the command.');
  });
});

describe('tollgate simulate', () => {
  it('lists the names that an option takes', async () => {
    expect((await tollgate('simulate', 'algorithms', '--help')).stdout.replace(/\s+/g, ' ')).toContain('token_bucket, gcra');
  });

  it('writes a table, charts and the options that it was given', async () => {
    const out = join(folder, 'given');
    const given = ['--pattern', 'poisson', '--seed', '7', '--limit', '20', '--window-ms', '500', '--seconds', '10', '--load', '0.5'];
    const { code, stdout } = await tollgate('simulate', 'algorithms', ...given, '--algorithms', 'gcra,token_bucket', '--out', out);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^poisson traffic, seed 7: .*; 20 in 500 ms for each key\n\nalgorithm +admitted .*\ntoken_bucket +\d.*\ngcra +\d/,
    );
    expect(readdirSync(out).sort()).toEqual(['admitted-over-time.svg', 'algorithms-compared.svg', 'algorithms.json', 'decision-cost.svg']);
    expect(JSON.parse(readFileSync(join(out, 'algorithms.json'), 'utf8'))).toMatchObject({
      options: { what: 'algorithms', pattern: 'poisson', seed: 7, bound: { limit: 20, windowMs: 500 }, seconds: 10, load: 0.5 },
      figures: [{ algorithm: 'token_bucket' }, { algorithm: 'gcra' }],
    });
  });

  it.each([
    [[], 'Say which command.'],
    [['weather'], "Unknown command 'weather'"],
    [['algorithms', 'topologies'], 'Too many arguments'],
    [['algorithms', '--speed', '3'], "Unknown option '--speed'"],
    [['algorithms', '--seed', '-1'], '--seed must be a whole number from 0 to 4294967295; got -1.'],
    [['algorithms', '--limit', '1.5'], '--limit must be a whole number from 1 to 1000000; got 1.5.'],
    [['algorithms', '--window-ms', '0'], '--window-ms must be a whole number'],
    [['algorithms', '--load', '0'], '--load must be a number from 0.01 to 100; got 0.'],
    [['algorithms', '--pattern', 'wild'], '--pattern must be one of constant, poisson, bursty, diurnal, boundary; got wild.'],
    [['algorithms', '--algorithms', 'gcra,magic,tea'], '; got magic, tea.'],
    [['algorithms', '--algorithms', ''], 'got nothing.'],
    [['algorithms', '--nodes', '3'], "Unknown option '--nodes'"],
    [['topologies', '--algorithms', 'gcra'], "Unknown option '--algorithms'"],
    [['topologies', '--keys', '33'], '--keys must be a whole number from 1 to 32; got 33.'],
    [['algorithms', '--csv', '/no/such/file'], '--csv must be a file; there is no /no/such/file.'],
    [['algorithms', '--csv', 'package.json', '--keys', '3'], "Option '--csv <file>' cannot be used with option '--keys <n>'"],
    [['algorithms', '--out', ''], '--out must be a directory; got nothing.'],
    [['algorithms', '--limit', '1000000', '--window-ms', '1'], 'requests; at most 2,000,000'],
    [['algorithms', '--limit', '2000', '--algorithms', 'sliding_log'], 'sliding_log is left out: limit '],
    [['algorithms', '--csv', 'package.json'], 'package.json:\nline 1'],
  ])('answers wrong usage with exit code 2 and says what is wrong: %j', async (args, fault) => {
    const { code, stdout, stderr } = await tollgate('simulate', ...args);
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(fault) as string });
  });

  it('names every wrong value at once', async () => {
    const { stderr } = await tollgate('simulate', 'topologies', '--seed', 'x', '--limit', 'y', '--nodes', '0', '--csv', 'none');
    expect(stderr.match(/^--\w+ must be/gm)).toEqual(['--seed must be', '--limit must be', '--nodes must be', '--csv must be']);
  });
});
