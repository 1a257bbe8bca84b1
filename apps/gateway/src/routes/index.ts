export { openRoutesOrExit } from './open-routes.js';
export { registerRoutes } from './routes-metrics.js';
export type { RoutesFile } from './routes-file.js';
