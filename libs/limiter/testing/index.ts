export * from './arbitraries.js';
export * from './bucket-store-contract.js';
export * from './fake-clock.js';
export * from './golden-runner.js';
export * from './model.js';
