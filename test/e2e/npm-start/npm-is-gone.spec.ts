import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../support/until.js';
import { npmStart, ownPlace, stillRunning, type Place } from '../../support/npm-start.js';

/** A signal to npm alone, as a script or an editor sends it; a terminal sends it to all. */
describe('the system that npm start has started ends when its npm', () => {
  let place: Place;
  // One place for all: only the first start has to create a database.
  beforeAll(async () => {
    place = await ownPlace();
  });
  afterAll(() => place.remove());

  it.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)('is sent %s', async (signal) => {
    const run = npmStart(place.env, [], { throughNpm: true });
    await run.until('one line per event');
    const children = run.children();
    const lock = Number(readFileSync(join(place.directory, 'run.lock'), 'utf8').match(/\d+/)?.[0]);
    expect(stillRunning(children)).toHaveLength(7);
    run.signal(signal);
    await until('all parts have ended', () => stillRunning([...children, { name: 'npm start', pid: lock }]).length === 0, 30_000);
  });
});
