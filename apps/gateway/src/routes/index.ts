export { openRoutesOrExit } from './open-routes.js';
export type { RoutesFile } from './routes-file.js';
