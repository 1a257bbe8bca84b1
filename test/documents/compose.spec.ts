import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import { join } from 'node:path';
import { ROOT } from '../../scripts/paths.mjs';

const require = createRequire(import.meta.url);
const { load } = require('js-yaml') as { load: (text: string) => unknown };
const { default: Ajv } = require('ajv/dist/2020.js') as {
  default: new (options: object) => { compile(schema: unknown): ((value: unknown) => boolean) & { errors?: unknown } };
};

interface Service {
  image: string;
  environment?: Record<string, string>;
  ports?: string[];
  volumes?: string[];
  depends_on?: Record<string, unknown>;
  networks?: Record<string, { ipv4_address: string }>;
  mem_limit?: string;
  cpus?: number;
  pids_limit?: number;
  init?: boolean;
  security_opt?: string[];
}

interface Compose {
  services: Record<string, Service>;
  networks: Record<string, { ipam: { config: { subnet: string; gateway: string }[] } }>;
  volumes: Record<string, null>;
}

/** As Compose merges `<<`: what stands beside it wins. */
function merged(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(merged);
  if (typeof value !== 'object' || value === null) return value;
  const { '<<': inherited, ...own } = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, merged(each)]));
  return { ...(inherited as object | undefined), ...own };
}

const text = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8');
const compose = merged(load(text)) as Compose;
const services = Object.entries(compose.services);

const validate = new Ajv({ allErrors: true, strict: false, formats: { ipv4: /^(\d{1,3}\.){3}\d{1,3}$/ } }).compile(
  JSON.parse(readFileSync(join(ROOT, 'test/support/compose.schema.json'), 'utf8')),
);

const faults = (value: unknown): unknown => (validate(value) ? [] : validate.errors);

/** Secrets of which the apps say what holds without them. */
const OPTIONAL = ['DECISION_API_TOKENS', 'MANAGEMENT_TOKEN', 'TOKEN_HASH_KEY'];

describe('docker-compose.yml', () => {
  it('is what Compose reads', () => expect(faults(compose)).toEqual([]));

  it.each<[string, (broken: Compose) => void]>([
    ['a misspelt name', (broken) => Object.assign(broken.services['gateway']!, { memlimit: '1g' })],
    ['a size without a unit', (broken) => Object.assign(broken.services['gateway']!, { mem_limit: '512' })],
    ['a condition that is none', (broken) => Object.assign(broken.services['gateway']!.depends_on!, { redis: { condition: 'healthy' } })],
  ])('would be refused with %s', (_what, breaks) => {
    const broken = structuredClone(compose);
    breaks(broken);
    expect(faults(broken)).not.toEqual([]);
  });

  it('names only services, volumes and networks that there are', () => {
    for (const [, { depends_on: needs = {}, volumes = [], networks = {} }] of services) {
      expect(Object.keys(compose.services)).toEqual(expect.arrayContaining(Object.keys(needs)));
      const named = volumes.map((volume) => volume.split(':')[0]!).filter((source) => !source.startsWith('.'));
      expect(Object.keys(compose.volumes)).toEqual(expect.arrayContaining(named));
      expect(Object.keys(compose.networks)).toEqual(expect.arrayContaining(Object.keys(networks)));
    }
  });

  it('has no password of its own: each must be set, and Compose says so', () => {
    const variables = [...text.matchAll(/\$\{([A-Z_]+)(:[-?][^}]*)?\}/g)].filter(
      ([, name = '']) => /PASSWORD|TOKEN/.test(name) && !OPTIONAL.includes(name),
    );
    expect(new Set(variables.map(([, name]) => name))).toEqual(new Set(['POSTGRES_PASSWORD', 'REDIS_PASSWORD', 'TOLLGATE_ADMIN_TOKEN']));
    for (const [whole, , rest = ''] of variables) expect([whole, rest]).toEqual([whole, expect.stringMatching(/^:\?set it to /)]);
  });

  it.each(services)(
    '%s has bounds, an image of one version, and ports on loopback alone',
    (_name, { image, mem_limit: memory, cpus, pids_limit: pids, ports = [], security_opt: security }) => {
      expect(image === 'tollgate' || /^[a-z/]+:\d+\.\d+(\.\d+)?(-[a-z0-9.]+)?(@sha256:[0-9a-f]{64})?$/.test(image)).toBe(true);
      expect([memory, cpus, pids]).toEqual([expect.any(String), expect.any(Number), expect.any(Number)]);
      expect(security).toContain('no-new-privileges:true');
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    },
  );

  it('takes what keeps data by digest', () => {
    for (const name of ['postgres', 'redis']) expect(compose.services[name]?.image).toMatch(/@sha256:[0-9a-f]{64}$/);
  });

  it('trusts single peers: the way in from this machine, and the load generator', () => {
    const trusted = /TRUSTED_PROXIES:-([^}]*)\}/.exec(text)?.[1]?.split(',') ?? [];
    const [{ subnet, gateway } = { subnet: '', gateway: '' }] = compose.networks['default']?.ipam.config ?? [];
    expect(trusted).toEqual([`${gateway}/32`, `${compose.services['locust']?.networks?.['default']?.ipv4_address}/32`]);
    const inside = new BlockList();
    inside.addSubnet(subnet.split('/')[0]!, Number(subnet.split('/')[1]));
    for (const range of trusted) expect(inside.check(range.split('/')[0]!)).toBe(true);
  });
});

describe('the Dockerfile', () => {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');

  it('listens on all addresses of its container, where loopback would be nobody', () => {
    for (const name of ['RULES_API_HOST', 'GATEWAY_HOST', 'MANAGEMENT_HOST'])
      expect(dockerfile).toMatch(new RegExp(`^ENV .*${name}=0\\.0\\.0\\.0`, 'm'));
  });

  it('is built on one version of Node, by digest', () =>
    expect(dockerfile).toMatch(/^ARG NODE=\d+\.\d+\.\d+-bookworm-slim@sha256:[0-9a-f]{64}$/m));
});
