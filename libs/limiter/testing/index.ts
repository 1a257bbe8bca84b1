export * from './arbitraries.js';
export * from './contract/index.js';
export * from './fake-clock.js';
export * from './golden-runner.js';
export * from './model.js';
export * from './takes.js';
