/**
 * The same case with as few pieces as still fail in the same way.
 * @template {import('./fuzz.mjs').AnyCase} C
 * @param {C} testCase
 * @param {(smaller: C) => Promise<boolean>} fails
 */
export async function shrunk(testCase, fails) {
  let smallest = testCase;
  if (smallest.writes > 1 && (await fails({ ...smallest, writes: 1 }))) smallest = { ...smallest, writes: 1 };
  for (let at = 0; at < smallest.pieces.length;) {
    const smaller = { ...smallest, pieces: smallest.pieces.toSpliced(at, 1) };
    if (await fails(smaller)) smallest = smaller;
    else at++;
  }
  return smallest;
}
