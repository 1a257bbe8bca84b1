import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { InFlightMap } from './in-flight-map.js';
import { InFlightSet, NOWHERE, type InFlight } from './in-flight-set.js';

const runs = { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 300), seed: 1 };
const steps = fc.array(fc.tuple(fc.boolean(), fc.nat(12)), { maxLength: 200 });

test('an InFlightSet has what a Set has, whatever is added and deleted', () => {
  fc.assert(
    fc.property(steps, (changes) => {
      const things = Array.from({ length: 13 }, () => ({ place: NOWHERE }));
      const [mine, model] = [new InFlightSet(), new Set<InFlight>()];
      for (const [add, i] of changes) {
        const thing = things[i]!;
        if (!add) expect(mine.delete(thing)).toBe(model.delete(thing));
        else if (!model.has(thing)) {
          mine.add(thing);
          model.add(thing);
        }
        expect(new Set(mine.now())).toEqual(model);
        expect(mine.size).toBe(model.size);
      }
    }),
    runs,
  );
});

test('an InFlightMap has what a Map has, also after thousands of names have gone', () => {
  fc.assert(
    fc.property(steps, (changes) => {
      const [mine, model] = [new InFlightMap<object>(), new Map<string, object>()];
      for (const [add, i] of changes) {
        const name = `name ${i}`;
        const value = { i };
        // Many others come and go, so that the table is made anew meanwhile.
        for (let other = 0; other < 100; other++) {
          mine.set(`${other} of ${i}`, value);
          mine.delete(`${other} of ${i}`);
        }
        if (add) {
          mine.set(name, value);
          model.set(name, value);
        } else {
          mine.delete(name);
          model.delete(name);
        }
        expect([mine.size, mine.has(name), mine.get(name)]).toEqual([model.size, model.has(name), model.get(name)]);
        expect(new Set(mine.names())).toEqual(new Set(model.keys()));
      }
    }),
    { ...runs, numRuns: Math.min(runs.numRuns, 100) },
  );
});

/** Megabytes by which the old objects grow, although collections of young objects see all that come and go. */
function leftBehind(add: (thing: InFlight, name: string) => void, remove: (thing: InFlight, name: string) => void): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;
  const old = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!.space_used_size;
  const underWay: [InFlight, string][] = [];
  collect();
  const before = old();
  for (let i = 0; i < 20_000; i++) {
    const thing = { place: NOWHERE, what: new Array<number>(100).fill(i) };
    add(thing, `name ${i}`);
    underWay.push([thing, `name ${i}`]);
    if (underWay.length > 4) remove(...underWay.shift()!);
    if (i % 500 === 0) collect({ type: 'minor' });
  }
  return (old() - before) / 2 ** 20;
}

test('what has gone is collected with the young objects; of a Set and a Map it is not', () => {
  const [set, map] = [new InFlightSet(), new InFlightMap<object>()];
  const [ofSet, ofMap] = [new Set<InFlight>(), new Map<string, InFlight>()];
  const left = {
    set: leftBehind(set.add.bind(set), set.delete.bind(set)),
    map: leftBehind(
      (thing, name) => map.set(name, thing),
      (_thing, name) => map.delete(name),
    ),
    ofSet: leftBehind(
      (thing) => ofSet.add(thing),
      (thing) => ofSet.delete(thing),
    ),
    ofMap: leftBehind(
      (thing, name) => ofMap.set(name, thing),
      (_thing, name) => ofMap.delete(name),
    ),
  };
  // All things together are 17 MB.
  expect(Math.max(left.set, left.map)).toBeLessThan(4);
  // If this fails, V8 has become better, and both classes may go.
  expect(Math.min(left.ofSet, left.ofMap)).toBeGreaterThan(8);
});
