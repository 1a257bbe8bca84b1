import { counterBy, gauge } from '#metrics';
import type { Registry } from 'prom-client';
import type { RoutesFile } from './routes-file.js';

/** Registered without a file too. */
export function registerRoutes(registry: Registry, routes: RoutesFile | undefined): void {
  counterBy(
    registry,
    'tollgate_routes_loads_total',
    'Times that the routes file was read because it had changed, by result.',
    ['result'],
    () => [
      [['applied'], routes?.applied ?? 0],
      [['refused'], routes?.refused ?? 0],
    ],
  );
  gauge(
    registry,
    'tollgate_routes_valid',
    '1 while the routes are those of the routes file.',
    () => ((routes?.isValid ?? true) ? 1 : 0),
    'min',
  );
}
