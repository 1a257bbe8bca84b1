export { registerPool } from './pool-metrics.js';
export { runPrimary } from './primary.js';
export { serveAsWorker, tellThatItServes, turnToServe } from './worker.js';
