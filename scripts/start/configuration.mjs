/** The variables of a run: checked by the apps' own loadConfig, all at once, before anything is started. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigurationError } from '../command-line.mjs';
import { DIST } from '../paths.mjs';
import { freePort, listenerOn, portFault } from '../ports.mjs';

export const APPS = /** @type {const} */ (['rules-api', 'preloader', 'gateway']);

/**
 * @typedef {object} Ports
 * @property {number} rulesApi
 * @property {number} gateway
 * @property {number} gatewayManagement
 * @property {number} preloaderManagement
 */

/**
 * @typedef {object} Hosts where the parts are asked, as a part of a URL
 * @property {string} rulesApi
 * @property {string} gateway
 * @property {string} management
 */

/**
 * Where to ask who listens on an address: all addresses answer on loopback too.
 * @param {string} host
 */
function askedAt(host) {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

const PORT_VARIABLES = /** @type {const} */ ({
  rulesApi: ['RULES_API_PORT', 'the Rules API'],
  gateway: ['GATEWAY_PORT', 'the gateway'],
  gatewayManagement: ['GATEWAY_MANAGEMENT_PORT', "the gateway's health and metrics"],
  preloaderManagement: ['PRELOADER_MANAGEMENT_PORT', "the preloader's health and metrics"],
});

/**
 * Checks the environment as the apps are going to read it.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} adminToken
 * @returns {Promise<{ ports: Ports, hosts: Hosts, graceMs: number }>} a port of 0 is resolved to a free one
 * @throws {Error} naming every bad variable
 */
export async function readConfiguration(env, adminToken) {
  const { loadConfig } = await import(pathToFileURL(join(DIST, 'libs/platform/src/config.js')).href);
  // What npm start is going to provide itself stands in for what is not set.
  const complete = {
    ...env,
    DATABASE_URL: env['DATABASE_URL'] || 'postgres://127.0.0.1/tollgate',
    REDIS_URL: env['REDIS_URL'] || 'redis://127.0.0.1:6379',
    UPSTREAM_URL: env['UPSTREAM_URL'] || 'http://127.0.0.1:9090',
    TOLLGATE_ADMIN_TOKEN: adminToken,
  };
  /** @type {Record<string, any>} */
  const config = {};
  const faults = new Set();
  for (const app of APPS) {
    try {
      Object.assign(config, loadConfig(app, complete));
    } catch (error) {
      const { faults: found } = /** @type {{ faults?: string[] }} */ (error);
      if (!found) throw error;
      for (const fault of found) faults.add(fault);
    }
  }
  if (faults.size > 0)
    throw new ConfigurationError(`These variables cannot be used:\n${[...faults].map((fault) => `  ${fault}`).join('\n')}`);

  /** @param {number} port */
  const concrete = async (port) => (port === 0 ? freePort() : port);
  const ports = {
    rulesApi: await concrete(config['rulesApiPort']),
    gateway: await concrete(config['gatewayPort']),
    gatewayManagement: await concrete(config['gatewayManagementPort']),
    preloaderManagement: await concrete(config['preloaderManagementPort']),
  };
  const hosts = {
    rulesApi: askedAt(config['rulesApiHost']),
    gateway: askedAt(config['gatewayHost']),
    management: askedAt(config['managementHost']),
  };
  return { ports, hosts, graceMs: config['shutdownGraceMs'] };
}

/**
 * @param {Ports} ports
 * @throws {Error} naming every port that cannot be had, who has it, and the variable that moves it
 */
export async function demandFreePorts(ports) {
  const entries = /** @type {(keyof Ports)[]} */ (Object.keys(PORT_VARIABLES)).map((key) => ({
    port: ports[key],
    variable: PORT_VARIABLES[key][0],
    what: PORT_VARIABLES[key][1],
  }));
  const lines = [];
  for (const [index, { port, variable, what }] of entries.entries()) {
    const same = entries.slice(0, index).find((other) => other.port === port);
    const fault = await portFault(port);
    if (same) lines.push(`Port ${port} is wanted for ${what} and for ${same.what}. Set ${variable} or ${same.variable} to another one.`);
    else if (fault === 'EADDRINUSE')
      lines.push(
        `Port ${port}, for ${what}, is taken${holder(port)}. Set ${variable} to a free one, for example: ${variable}=${port < 50_000 ? port + 10_000 : port - 10_000} npm start`,
      );
    else if (fault) lines.push(`Port ${port}, for ${what}, cannot be used (${fault}). Set ${variable} to another one.`);
  }
  if (lines.length > 0) throw new Error(lines.join('\n'));
}

/** @param {number} port */
function holder(port) {
  const found = listenerOn(port);
  return found ? ` by process ${found.pid} (${found.command.slice(0, 80)})` : '';
}
