export * from './algorithms/specs.js';
export * from './bound.js';
export * from './random.js';
export * from './topologies/index.js';
export * from './traffic/arrival.js';
export * from './traffic/patterns.js';
