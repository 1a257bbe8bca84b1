import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { objectFaults } from '#limiter';
import { mutated } from '../../../../libs/limiter/testing/odd-json.js';
import { ROUTES_FIELDS } from './route-fields.js';
import { BEYOND_THE_ROUTES_SCHEMA, routesSchema } from './routes-schema.js';

const FILE = join(import.meta.dirname, '../../../../docs/schema/routes.schema.json');

const { default: Ajv } = createRequire(import.meta.url)('ajv/dist/2020') as {
  default: new (options: object) => { compile(schema: unknown): (value: unknown) => boolean };
};
const fits = new Ajv({ strictTypes: false, strictRequired: false }).compile(JSON.parse(readFileSync(FILE, 'utf8')));

const EXAMPLE = {
  version: 1,
  upstreams: [
    {
      name: 'payments',
      addresses: ['http://10.0.0.7:9090', 'http://10.0.0.8:9090'],
      balance: 'round_robin',
      host: 'upstream',
      connections: 64,
      connectTimeoutMs: 500,
      passiveHealth: { failures: 3 },
      activeHealth: { path: '/healthz', intervalMs: 1_000 },
    },
    { name: 'slow', addresses: ['https://slow.test'], passiveHealth: null, activeHealth: null },
  ],
  routes: [
    {
      name: 'payments',
      upstream: 'payments',
      hosts: ['api.example.com', '*.example.org'],
      paths: ['/transactions/**'],
      pathExceptions: ['encoded-slashes'],
      maxBodyBytes: 65_536,
      requestHeaders: { set: { 'X-Via': 'tollgate' }, remove: ['Cookie'] },
    },
    { name: 'slow', upstream: 'slow', lane: true, exchangeTimeoutMs: 60_000 },
  ],
};

const faultsOf = (value: unknown) => objectFaults(value as Record<string, unknown>, ROUTES_FIELDS, { pointer: '', code: 'routes' });

describe('docs/schema/routes.schema.json', () => {
  it('is what the table of fields says; npm run schema writes it', () => {
    expect(readFileSync(FILE, 'utf8')).toBe(`${JSON.stringify(routesSchema(), null, 2)}\n`);
  });

  it('takes what the gateway takes', () => {
    expect([fits(EXAMPLE), faultsOf(EXAMPLE)]).toEqual([true, []]);
  });

  it('is never stricter than the gateway, and more lenient only where it says so', () => {
    fc.assert(
      fc.property(mutated(EXAMPLE), (value) => {
        if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
        const faults = faultsOf(value).filter(({ code }) => !BEYOND_THE_ROUTES_SCHEMA.some((each) => each.code.test(code)));
        if (faultsOf(value).length === 0) expect(fits(value)).toBe(true);
        if (fits(value)) expect(faults).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});
