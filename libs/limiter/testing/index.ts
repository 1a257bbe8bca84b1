export * from './arbitraries.js';
export * from './contract/index.js';
export * from './engine.js';
export * from './fake-clock.js';
export * from './golden-runner.js';
export * from './model.js';
export * from './properties/clock-steps.js';
export * from './takes.js';
