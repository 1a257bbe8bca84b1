import { collectDefaultMetrics, Registry } from 'prom-client';
import type { App } from './variables/variable.js';

/** A registry for one app, with Node's default metrics; every series has the label `app`. */
export function createRegistry(app: App): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ app });
  collectDefaultMetrics({ register: registry });
  return registry;
}
