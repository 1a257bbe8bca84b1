/** The variables of a run: checked by the apps' own loadConfig, all at once, before anything is started. */
import { ConfigError, loadConfig } from '#platform';
import { freePort, listenerOn, portFault } from '#scripts/ports.mjs';
import { failed, notStarted } from '../shared/command-error.js';

export interface Ports {
  readonly rulesApi: number;
  readonly gateway: number;
  readonly gatewayManagement: number;
  readonly decisionApi: number;
  readonly decisionApiGrpc: number;
  readonly decisionApiManagement: number;
  readonly preloaderManagement: number;
}

/** Where the parts are asked, as a part of a URL. */
export interface Hosts {
  readonly rulesApi: string;
  readonly gateway: string;
  readonly decisionApi: string;
  readonly management: string;
}

export interface RunConfiguration {
  readonly ports: Ports;
  readonly hosts: Hosts;
  /** How long an app may take to stop. */
  readonly graceMs: number;
}

const PORT_VARIABLES: Readonly<Record<keyof Ports, { readonly variable: string; readonly what: string }>> = {
  rulesApi: { variable: 'RULES_API_PORT', what: 'the Rules API' },
  gateway: { variable: 'GATEWAY_PORT', what: 'the gateway' },
  gatewayManagement: { variable: 'GATEWAY_MANAGEMENT_PORT', what: "the gateway's health and metrics" },
  decisionApi: { variable: 'DECISION_API_PORT', what: 'the decision API' },
  decisionApiGrpc: { variable: 'DECISION_API_GRPC_PORT', what: 'gRPC of the decision API' },
  decisionApiManagement: { variable: 'DECISION_API_MANAGEMENT_PORT', what: "the decision API's health and metrics" },
  preloaderManagement: { variable: 'PRELOADER_MANAGEMENT_PORT', what: "the preloader's health and metrics" },
};

/**
 * Checks the environment as the apps are going to read it; a port of 0 is resolved to a free one.
 * @throws {CommandError} naming every bad variable
 */
export async function readConfiguration(env: NodeJS.ProcessEnv, adminToken: string): Promise<RunConfiguration> {
  // What npm start is going to provide itself stands in for what is not set.
  const complete = {
    ...env,
    DATABASE_URL: env['DATABASE_URL'] || 'postgres://127.0.0.1/tollgate',
    REDIS_URL: env['REDIS_URL'] || 'redis://127.0.0.1:6379',
    UPSTREAM_URL: env['UPSTREAM_URL'] || 'http://127.0.0.1:9090',
    TOLLGATE_ADMIN_TOKEN: adminToken,
  };
  const faults = new Set<string>();
  const rulesApi = collecting(faults, () => loadConfig('rules-api', complete));
  const preloader = collecting(faults, () => loadConfig('preloader', complete));
  const gateway = collecting(faults, () => loadConfig('gateway', complete));
  const decisionApi = collecting(faults, () => loadConfig('decision-api', complete));
  if (!rulesApi || !preloader || !gateway || !decisionApi)
    throw notStarted(`These variables cannot be used:\n${[...faults].map((fault) => `  ${fault}`).join('\n')}`);
  const concrete = async (port: number): Promise<number> => (port === 0 ? freePort() : port);
  return {
    ports: {
      rulesApi: await concrete(rulesApi.rulesApiPort),
      gateway: await concrete(gateway.gatewayPort),
      gatewayManagement: await concrete(gateway.gatewayManagementPort),
      decisionApi: await concrete(decisionApi.decisionApiPort),
      decisionApiGrpc: await concrete(decisionApi.decisionApiGrpcPort),
      decisionApiManagement: await concrete(decisionApi.decisionApiManagementPort),
      preloaderManagement: await concrete(preloader.preloaderManagementPort),
    },
    hosts: {
      rulesApi: askedAt(rulesApi.rulesApiHost),
      gateway: askedAt(gateway.gatewayHost),
      decisionApi: askedAt(decisionApi.decisionApiHost),
      management: askedAt(gateway.managementHost),
    },
    graceMs: gateway.shutdownGraceMs,
  };
}

function collecting<T>(faults: Set<string>, load: () => T): T | undefined {
  try {
    return load();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const fault of error.faults) faults.add(fault);
    return undefined;
  }
}

/** Where to ask who listens on an address: all addresses answer on loopback too. */
function askedAt(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

/** @throws {CommandError} naming every port that cannot be had, who has it, and the variable that moves it */
export async function demandFreePorts(ports: Ports): Promise<void> {
  const entries = (Object.keys(PORT_VARIABLES) as (keyof Ports)[]).map((key) => ({ port: ports[key], ...PORT_VARIABLES[key] }));
  const lines: string[] = [];
  for (const [index, { port, variable, what }] of entries.entries()) {
    const same = entries.slice(0, index).find((other) => other.port === port);
    const fault = await portFault(port);
    if (same) lines.push(`Port ${port} is wanted for ${what} and for ${same.what}. Set ${variable} or ${same.variable} to another one.`);
    else if (fault === 'EADDRINUSE') {
      const other = port < 50_000 ? port + 10_000 : port - 10_000;
      lines.push(
        `Port ${port}, for ${what}, is taken${holder(port)}. Set ${variable} to a free one, for example: ${variable}=${other} npm start`,
      );
    } else if (fault) lines.push(`Port ${port}, for ${what}, cannot be used (${fault}). Set ${variable} to another one.`);
  }
  if (lines.length > 0) throw failed(lines.join('\n'));
}

function holder(port: number): string {
  const found = listenerOn(port);
  return found ? ` by process ${found.pid} (${found.command.slice(0, 80)})` : '';
}
