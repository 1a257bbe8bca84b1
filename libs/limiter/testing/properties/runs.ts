/** How many random cases a property runs: what it says, or PROPERTY_RUNS, for a long run by hand. */
export const runs = (usual: number): { numRuns: number } => ({ numRuns: Number(process.env['PROPERTY_RUNS'] ?? usual) });
