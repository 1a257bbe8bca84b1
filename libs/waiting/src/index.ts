export * from './background.js';
export * from './retry.js';
export { RunningTime, runningTime, type Heart } from './running-time.js';
export * from './with-deadline.js';
