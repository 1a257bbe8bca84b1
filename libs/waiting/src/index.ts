export * from './background.js';
export { InFlightMap } from './in-flight-map.js';
export { InFlightSet, NOWHERE, type InFlight } from './in-flight-set.js';
export * from './retry.js';
export { RunningTime, runningTime, type Heart } from './running-time.js';
export * from './with-deadline.js';
