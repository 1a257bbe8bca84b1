import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { APPS, loadConfig, VARIABLES, type App, type Variable } from '#platform';
import { ROOT } from '../../scripts/paths.mjs';

const FOLDER = join(ROOT, 'deploy', 'kubernetes');
const NAME = 'app.kubernetes.io/name';

interface Selector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values: string[] }[];
}

interface Probe {
  httpGet: { path: string; port: string };
}

interface Container {
  name: string;
  image: string;
  command: string[];
  ports: { name: string; containerPort: number }[];
  env: { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string; optional?: boolean } } }[];
  envFrom: { configMapRef: { name: string } }[];
  resources: { requests: { cpu: string; memory: string }; limits: { memory: string; cpu?: string } };
  securityContext: object;
  startupProbe: Probe;
  livenessProbe: Probe;
  readinessProbe: Probe;
}

interface Pod {
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  spec: { securityContext: object; containers: Container[]; terminationGracePeriodSeconds: number; shareProcessNamespace: boolean };
}

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
  spec: {
    replicas?: number;
    template: Pod;
    selector: Selector & Record<string, unknown>;
    podSelector: Selector;
    ports: { name: string; port: number; targetPort: string }[];
    ingress?: { from?: object[]; ports: { port: string }[] }[];
    scaleTargetRef: { kind: string; name: string };
    minReplicas: number;
    maxReplicas: number;
    maxUnavailable: number;
  };
}

const kustomization = parse(readFileSync(join(FOLDER, 'kustomization.yaml'), 'utf8')) as {
  resources: string[];
  images: { name: string }[];
};
const manifests = kustomization.resources.flatMap((file) =>
  parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8')).map((document) => {
    if (document.errors.length > 0) throw document.errors[0]!;
    return document.toJS() as Manifest;
  }),
);
const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);
const named = (kind: string, name: string) => ofKind(kind).find(({ metadata }) => metadata.name === name)!;
const pods = ofKind('Deployment').map(({ spec }) => spec.template);

/** What a secret of the cluster has. */
const SECRETS: Record<string, string> = {
  DATABASE_URL: 'postgres://tollgate:secret@postgres:5432/tollgate',
  REDIS_URL: 'redis://:secret@redis:6379',
  TOLLGATE_ADMIN_TOKEN: 'a-token-of-twenty-four-ch',
  DECISION_API_TOKENS: `mesh:${'0'.repeat(64)}`,
};

/** The variables of one container as Kubernetes sets them. */
function environmentOf({ env, envFrom }: Container): Record<string, string> {
  const fromMaps = envFrom.flatMap(({ configMapRef }) => Object.entries(named('ConfigMap', configMapRef.name).data!));
  const own = env.flatMap(({ name, value, valueFrom }): [string, string][] => {
    if (value !== undefined) return [[name, value]];
    const { key, optional } = valueFrom!.secretKeyRef;
    if (SECRETS[key] === undefined && optional !== true) throw new Error(`the secret has no ${key}`);
    return SECRETS[key] === undefined ? [] : [[name, SECRETS[key]]];
  });
  return Object.fromEntries([...fromMaps, ...own]);
}

const mebibytes = (quantity: string): number => {
  const [, number, unit] = /^(\d+)(Mi|Gi)$/.exec(quantity)!;
  return Number(number) * (unit === 'Gi' ? 1024 : 1);
};

/** What the image sets, which is part of what an app reads. */
const IMAGE = { DRAIN_DELAY_MS: /DRAIN_DELAY_MS=(\d+)/.exec(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'))![1]! };

describe.each(APPS)('the deployment %s', (app: App) => {
  const { spec, metadata } = named('Deployment', app).spec.template;
  const container = spec.containers[0]!;
  const environment = environmentOf(container);
  const config = loadConfig(app, { ...IMAGE, ...environment }) as unknown as Readonly<Record<string, unknown>>;
  const variables = Object.entries<Variable<unknown>>(VARIABLES).filter(([, { apps }]) => apps.includes(app));

  it('sets only variables that the app reads, each to a value that it accepts', () => {
    const known = variables.map(([, { name }]) => name);
    expect(Object.keys(environment).filter((name) => !known.includes(name))).toEqual([]);
    expect(() => loadConfig(app, { ...environment, SHUTDOWN_GRACE_MS: 'soon' })).toThrow('SHUTDOWN_GRACE_MS');
  });

  it('takes secrets from the secret alone', () => {
    const secrets = variables.filter(([, { secret }]) => secret).map(([, { name }]) => name);
    for (const { name, value } of container.env) if (value !== undefined) expect(secrets).not.toContain(name);
    for (const name of Object.keys(named('ConfigMap', app).data!)) expect(secrets).not.toContain(name);
  });

  it('names the ports that the app listens on', () => {
    const listens = variables.filter(([, { name }]) => name.endsWith('_PORT')).map(([key]) => config[key]);
    expect(new Set(container.ports.map(({ containerPort }) => containerPort))).toEqual(new Set(listens));
    const probed = container.ports.find(({ name }) => name === container.readinessProbe.httpGet.port)!;
    expect(metadata.annotations['prometheus.io/port']).toBe(String(probed.containerPort));
  });

  it('is probed where it answers: life by /healthz, work by /readyz', () => {
    const { startupProbe, livenessProbe, readinessProbe, ports } = container;
    expect([startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.path)).toEqual(['/healthz', '/healthz', '/readyz']);
    const management = ports.some(({ name }) => name === 'management') ? 'management' : 'http';
    for (const probe of [startupProbe, livenessProbe, readinessProbe]) expect(probe.httpGet.port).toBe(management);
  });

  it('has longer to end than the app takes, which is not number 1 of its container', () => {
    expect(spec.terminationGracePeriodSeconds * 1000).toBeGreaterThan((config['shutdownGraceMs'] as number) + 500);
    expect(spec.shareProcessNamespace).toBe(true);
    expect(container.command).toEqual(['node', '--enable-source-maps', `dist/${app}.js`]);
  });

  it('may do nothing that it does not need', () => {
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  it('asks for memory and cores, and is bounded in memory alone', () => {
    const { requests, limits } = container.resources;
    expect(requests.cpu).toMatch(/^\d+m?$/);
    expect(mebibytes(requests.memory)).toBeLessThanOrEqual(mebibytes(limits.memory));
    expect(limits.cpu).toBeUndefined();
  });

  it('may lose one pod at a time', () => {
    const { maxUnavailable, selector } = named('PodDisruptionBudget', app).spec;
    expect([maxUnavailable, selector.matchLabels]).toEqual([1, metadata.labels]);
    expect(named('Deployment', app).spec.selector.matchLabels).toEqual(metadata.labels);
  });
});

describe('the manifests together', () => {
  it('are all in the kustomization', () => {
    const files = readdirSync(FOLDER).filter((file) => file.endsWith('.yaml') && file !== 'kustomization.yaml');
    expect(kustomization.resources.toSorted()).toEqual(files.toSorted());
    expect(kustomization.images.map(({ name }) => name)).toEqual([...new Set(pods.map(({ spec }) => spec.containers[0]!.image))]);
    expect(ofKind('Deployment').map(({ metadata }) => metadata.name)).toEqual(expect.arrayContaining([...APPS]));
  });

  it('lead services to ports that there are', () => {
    for (const { metadata, spec } of ofKind('Service')) {
      const { containers } = named('Deployment', metadata.name).spec.template.spec;
      expect(spec.selector).toEqual({ [NAME]: metadata.name });
      const names = containers[0]!.ports.map(({ name }) => name);
      for (const { targetPort } of spec.ports) expect(names).toContain(targetPort);
      expect(spec.ports.map(({ targetPort }) => targetPort)).not.toContain('management');
    }
  });

  it('scale gateways from 2 to 8, and nothing says another number', () => {
    const { scaleTargetRef, minReplicas, maxReplicas } = named('HorizontalPodAutoscaler', 'gateway').spec;
    expect([scaleTargetRef, minReplicas, maxReplicas]).toEqual([{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'gateway' }, 2, 8]);
    expect(named('Deployment', 'gateway').spec.replicas).toBeUndefined();
  });

  it('let workers of a gateway be as many as the cores that are asked for', () => {
    const container = named('Deployment', 'gateway').spec.template.spec.containers[0]!;
    expect(environmentOf(container)['GATEWAY_WORKERS']).toBe(container.resources.requests.cpu);
  });

  it('open no port to the network but those that are named, to pods that there are', () => {
    const policies = ofKind('NetworkPolicy');
    expect(policies.some(({ spec }) => Object.keys(spec.podSelector).length === 0 && spec.ingress === undefined)).toBe(true);
    for (const { spec } of policies) {
      const { matchLabels = {}, matchExpressions = [] } = spec.podSelector;
      const apps = [...Object.values(matchLabels), ...matchExpressions.flatMap(({ values }) => values)];
      for (const app of apps) {
        const names = named('Deployment', app).spec.template.spec.containers[0]!.ports.map(({ name }) => name);
        for (const { ports } of spec.ingress ?? []) expect(names).toEqual(expect.arrayContaining(ports.map(({ port }) => port)));
      }
      const isForAll = spec.ingress?.some(({ from }) => from === undefined);
      if (isForAll) expect(apps).toEqual(['gateway']);
    }
  });

  it('give a preloader more memory than was measured', () => {
    const { runs } = JSON.parse(readFileSync(join(ROOT, 'bench', 'published.json'), 'utf8')) as {
      runs: { figures: { name: string; of?: string; median: number }[] }[];
    };
    const measured = runs
      .flatMap(({ figures }) => figures)
      .find(({ name, of }) => name === 'memory at most' && of?.startsWith('preload'))!.median;
    const { requests } = named('Deployment', 'preloader').spec.template.spec.containers[0]!.resources;
    expect(mebibytes(requests.memory)).toBeGreaterThan(1.1 * measured);
  });
});

const has = (program: string, ...args: string[]) => spawnSync(program, args, { stdio: 'ignore' }).status === 0;
const hasKubectl = has('kubectl', 'version', '--client');
if (!hasKubectl) console.warn('SKIPPED: kubectl is not there, so kustomization.yaml is not read by it');

(hasKubectl ? test : test.skip)('kubectl makes one set of manifests of them', () => {
  const text = execFileSync('kubectl', ['kustomize', FOLDER], { encoding: 'utf8' });
  expect(parseAllDocuments(text)).toHaveLength(manifests.length);
});
