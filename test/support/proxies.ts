/** Real proxies with the configurations of `integrations/`, as processes. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../scripts/paths.mjs';
import { freePort } from '../../scripts/ports.mjs';
import type { FoundProxy, ProxyName } from '../../scripts/services/fetch-proxies.mjs';
import { startServer } from '../../scripts/services/server.mjs';
import { Tether } from '../../scripts/tether.mjs';
import { until } from './until.js';

export type { ProxyName };
export type Program = Exclude<FoundProxy, { missing: string }>;

/** How each is started in a folder that has its configuration. */
const ARGUMENTS: Record<ProxyName, readonly string[]> = {
  nginx: ['-p', '.', '-c', 'nginx.conf', '-g', 'daemon off;'],
  haproxy: ['-db', '-f', 'haproxy.cfg'],
  caddy: ['run', '--config', 'Caddyfile', '--adapter', 'caddyfile'],
  envoy: ['-c', 'envoy.yaml', '--concurrency', '1', '--use-dynamic-base-id', '--log-level', 'error'],
  traefik: ['--configFile=traefik.yaml'],
};

/** A port of a configuration: of who asks and who is asked, and those where a proxy listens. */
const PORT = /\b(?:8000|809[01]|810[0-3]|1000[0-2]|9901)\b/g;
const LISTENING: Record<ProxyName, readonly number[]> = {
  nginx: [8100],
  haproxy: [8101],
  caddy: [8102],
  traefik: [8103],
  envoy: [10_000, 10_001, 10_002],
};

export interface RunningProxy {
  /** By the port of its configuration, the one where it listens. */
  readonly ports: ReadonlyMap<number, number>;
  /** Ends it, and removes its folder. */
  stop(): Promise<void>;
}

export interface ProxyOptions {
  readonly program: Program;
  /** By the ports of the configurations: 8000 the API, 8090 and 8091 the decision API. */
  readonly ports: Readonly<Record<number, number>>;
  /** Changes a file of the configuration. */
  readonly edit: (text: string) => string;
}

const tether = new Tether();

/** Starts a proxy with a copy of its configuration, and waits until it listens. @throws with the end of its log */
export async function startProxy(name: ProxyName, options: ProxyOptions): Promise<RunningProxy> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await launch(name, options);
    } catch (error) {
      // A free port may be gone by the time that a proxy wants it.
      if (attempt === 3 || !/in use/i.test(String(error))) throw error;
    }
  }
}

async function launch(name: ProxyName, { program: { program, env }, ports, edit }: ProxyOptions): Promise<RunningProxy> {
  const own = new Map<number, number>();
  for (const port of [...LISTENING[name], 9901]) own.set(port, await freePort('0.0.0.0'));
  const folder = mkdtempSync(join(tmpdir(), `tollgate-${name}-`));
  cpSync(join(ROOT, 'integrations', name), folder, { recursive: true });
  for (const file of readdirSync(folder)) {
    const text = edit(readFileSync(join(folder, file), 'utf8'));
    writeFileSync(
      join(folder, file),
      text.replaceAll(PORT, (port) => String(ports[Number(port)] ?? own.get(Number(port)) ?? port)),
    );
  }
  const server = startServer({
    program,
    args: [...ARGUMENTS[name]],
    surroundings: { cwd: folder, env: { ...process.env, ...env, HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder } },
    tether,
    signals: ['SIGTERM', 'SIGKILL'],
    patienceMs: 5_000,
  });
  const stop = async (): Promise<void> => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    for (const port of LISTENING[name]) await until(`${name} listens`, () => server.hasExited() || accepts(own.get(port)!), 30_000);
    // It listens before it has read its routes.
    if (name === 'traefik')
      await until('Traefik has routes', async () => (await fetch(`http://127.0.0.1:${own.get(8103)}/`)).status !== 404);
    if (server.hasExited()) throw new Error(`${name} has ended:\n${server.lastLines()}`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { ports: own, stop };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
