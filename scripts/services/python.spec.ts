import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { TOOLS } from '../paths.mjs';
import { findProgram } from '../processes.mjs';
import { installedPython, obtainPython } from './python.mjs';

const withPython = findProgram(['python3']) ? it : it.skip;
const packages = { title: 'Nothing 1.0', name: `python-spec-${process.pid}`, requirements: '' };
const said: string[] = [];
const say = (line: string): void => void said.push(line);

describe('packages of Python', () => {
  it('are missing where no Python is recent enough, and it is said which one is needed', async () => {
    const result = await obtainPython({ ...packages, oldest: [99, 1] }, { say });
    expect(result).toEqual({ missing: expect.stringMatching(/^Nothing 1\.0 needs Python 99\.1 or later; /) });
    expect(said).toEqual([]);
  });

  withPython('leave nothing behind if their installation is broken off', async () => {
    const result = await obtainPython(packages, { say, signal: AbortSignal.abort() });
    expect(result).toEqual({ missing: 'The installation of Nothing 1.0 was broken off before its end.' });
    expect(existsSync(join(TOOLS, packages.name))).toBe(false);
    expect(installedPython(packages)).toBeUndefined();
  });
});
