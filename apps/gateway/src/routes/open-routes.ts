import { type Config, EXIT_BAD_CONFIGURATION } from '#platform';
import { RoutesError, type RouteDefaults } from './read-routes.js';
import { RoutesFile } from './routes-file.js';

/** The routes of the configuration, if it names a file. If that is not usable, prints why to stderr and exits with EXIT_BAD_CONFIGURATION. */
export function openRoutesOrExit(config: Config<'gateway'>): RoutesFile | undefined {
  if (config.routesFile === undefined) return undefined;
  try {
    return RoutesFile.open(config.routesFile, defaultsOf(config));
  } catch (error) {
    if (!(error instanceof RoutesError)) throw error;
    const faults = error.faults.map((fault) => `  ${fault}`).join('\n');
    process.stderr.write(`GATEWAY_ROUTES_FILE ${config.routesFile} is not usable:\n${faults}\n`);
    process.exit(EXIT_BAD_CONFIGURATION);
  }
}

function defaultsOf(config: Config<'gateway'>): RouteDefaults {
  return {
    connections: config.upstreamConnections,
    queueTimeoutMs: config.upstreamQueueTimeoutMs,
    headersTimeoutMs: config.upstreamResponseTimeoutMs,
    bodyIdleTimeoutMs: config.upstreamIdleTimeoutMs,
    exchangeTimeoutMs: config.exchangeTimeoutMs,
    ownHeaders: [config.apiKeyHeader, config.countryHeader].filter((name) => name !== ''),
  };
}
