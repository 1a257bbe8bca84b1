import * as fc from 'fast-check';

/** JSON as somebody might have damaged it: for tests of what reads stored data. */

/** Values that stand where another kind is wanted. */
const ODD_VALUES: readonly unknown[] = [
  null,
  true,
  false,
  '',
  '0',
  'x',
  '__proto__',
  'constructor',
  'toString',
  '-1',
  'é',
  '\u0000',
  '\ud800',
  'x'.repeat(5000),
  0,
  -0,
  -1,
  1,
  0.5,
  1e-320,
  255,
  65_536,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  -(2 ** 53),
  1e15,
  1e300,
  1.7976931348623157e308,
  [],
  {},
  [[]],
  [null],
  { __proto__: 1 },
  { length: 3 },
  { toString: null },
  { constructor: { name: 'x' } },
  Array.from({ length: 2000 }, () => 0),
];

/** A value with one to four places of it changed: replaced, removed, doubled, exchanged, or with a name added that objects have anyway. */
export function mutated(value: unknown): fc.Arbitrary<unknown> {
  return fc
    .array(
      fc.record({
        where: fc.nat(),
        how: fc.nat(9),
        odd: fc.constantFrom(...ODD_VALUES),
        number: fc.oneof(fc.double(), fc.nat(20), fc.nat(5000), fc.nat(1_000_000_000), fc.nat(Number.MAX_SAFE_INTEGER)),
      }),
      { minLength: 1, maxLength: 4 },
    )
    .map((changes) => {
      const copy = structuredClone(value);
      const root = { copy };
      for (const { where, how, odd, number } of changes) {
        const places = placesOf(root);
        change(places[where % places.length]!, how, structuredClone(odd), number);
      }
      return root.copy;
    });
}

/** Texts that are nearly JSON: cut off, with characters exchanged, nested beyond reason, or anything. */
export function nearlyJson(text: string): fc.Arbitrary<string> {
  return fc.oneof(
    fc.nat(text.length).map((end) => text.slice(0, end)),
    fc
      .record({
        at: fc.nat(text.length),
        odd: fc.constantFrom('"', '{', '}', '[', ']', ',', '\\', '\u0000', '-', '1e999', '__proto__', ' '),
      })
      .map(({ at, odd }) => text.slice(0, at) + odd + text.slice(at + 1)),
    fc
      .record({ depth: fc.integer({ min: 1, max: 100_000 }), end: fc.boolean() })
      .map(({ depth, end }) => '['.repeat(depth) + (end ? ']'.repeat(depth) : '')),
    fc.integer({ min: 1, max: 50_000 }).map((depth) => '{"rules":'.repeat(depth) + '0' + '}'.repeat(depth)),
    fc.string(),
    fc.json(),
  );
}

interface Place {
  readonly parent: Record<string, unknown>;
  readonly name: string;
}

function placesOf(parent: object): Place[] {
  return Object.entries(parent).flatMap(([name, child]) => [
    { parent: parent as Record<string, unknown>, name },
    ...(typeof child === 'object' && child !== null ? placesOf(child as object) : []),
  ]);
}

function change({ parent, name }: Place, how: number, odd: unknown, number: number): void {
  if (how === 0 && !Array.isArray(parent) && name !== 'copy') delete parent[name];
  else if (how === 1 && Array.isArray(parent)) parent.push(structuredClone(parent[0]));
  else if (how === 2) parent[name] = { ...(parent[name] as object), ['__proto__']: odd };
  else if (how === 3) parent[name] = [parent[name]];
  // Mostly other numbers: what is of another kind is found at once.
  else if (how === 4 && typeof parent[name] === 'number') parent[name] += number;
  else if (how > 4 && typeof parent[name] === 'number') parent[name] = number;
  else parent[name] = odd;
}
