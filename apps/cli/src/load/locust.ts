import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '#scripts/paths.mjs';
import { findProgram } from '#scripts/processes.mjs';
import { type Installing, isAtLeast, obtainPython, outputOf } from '#scripts/services/python.mjs';
import { notStarted } from '../shared/command-error.js';

/** The load profiles. */
export const LOCUST_FILES = join(ROOT, 'locust');

const OLDEST_PYTHON = [3, 11] as const;
const OLDEST_LOCUST = [2, 40] as const;

/** How to call Locust: a program and its first arguments. */
export type LocustCommand = readonly [program: string, ...args: string[]];

/**
 * Finds Locust on PATH, or installs it in a virtual environment of this checkout, which takes seconds to minutes.
 * @throws {CommandError} with what is missing
 */
export async function bringLocust(installing: Installing): Promise<LocustCommand> {
  const own = findProgram(['locust']);
  if (own && isRecent(await outputOf(own, '--version'))) return [own];
  const requirements = readFileSync(join(LOCUST_FILES, 'requirements.txt'), 'utf8');
  const version = /^locust==(.*)$/m.exec(requirements)?.[1];
  const python = await obtainPython({ title: `Locust ${version}`, name: 'locust', requirements, oldest: OLDEST_PYTHON }, installing);
  if ('missing' in python) throw notStarted(`${python.missing}\nA locust of your own on PATH will do as well.`);
  return [join(python.bin, 'python'), '-m', 'locust'];
}

const isRecent = (versions: string): boolean =>
  isAtLeast(/^locust (\d+)\.(\d+)/m.exec(versions), OLDEST_LOCUST) && isAtLeast(/Python (\d+)\.(\d+)/.exec(versions), OLDEST_PYTHON);
