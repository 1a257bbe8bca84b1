/**
 * How many random cases a property runs: as many as it says, or PROPERTY_RUNS, for a long run by hand. What it says is enough to find what a change
 * has broken; the rare case is found by long runs, and becomes an example. Without PROPERTY_RUNS the cases are the same each time: see
 * test/support/seeded-fast-check.mjs.
 */
export const runs = (usual: number): { numRuns: number } => ({ numRuns: Number(process.env['PROPERTY_RUNS'] ?? usual) });
