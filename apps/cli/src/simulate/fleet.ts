import { coresOf, leasedMicroseconds, runFleet, type FleetCores, type FleetCosts, type FleetFigures, type FleetRun } from '#simulation';
import { count, table } from '../shared/output.js';
import type { Report } from './report.js';
import { Steps } from './steps.js';

/** Requests that a run decides in about a minute, the two consistencies together. */
export const MOST_DECISIONS = 20_000_000;

export interface FleetOptions extends FleetRun {
  /** Without the cost of a leased decision it is measured. */
  readonly costs: Omit<FleetCosts, 'leasedUs'> & Partial<Pick<FleetCosts, 'leasedUs'>>;
}

/** Lets one load go through a fleet of instances, once exact and once leased, and says what that costs. */
export async function simulateFleet({ costs, ...run }: FleetOptions): Promise<Report> {
  const steps = new Steps(3);
  const figures: FleetFigures[] = [];
  for (const consistency of ['exact', 'leased'] as const) {
    await steps.next(consistency);
    figures.push(runFleet(run, consistency));
  }
  await steps.next('cost of a leased decision');
  const leasedUs = costs.leasedUs ?? leasedMicroseconds(cpuMs);
  steps.end();

  const priced: FleetCosts = { ...costs, leasedUs };
  const cores = figures.map((each) => coresOf(each, priced));
  return {
    text: [
      describe(run),
      fleetTable(figures, cores),
      ...figures.map((each, i) => arithmetic(each, priced, cores[i]!)),
      sources(costs),
    ].join('\n\n'),
    pictures: {},
    json: { options: { what: 'fleet', ...run, costs }, figures, ...(costs.leasedUs === undefined && { measured: { leasedUs } }) },
  };
}

/** Of this process. On a machine that does something else as well, the time that passes says little. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function describe({ decisionsPerSecond, instances, spread, merchants, exponent, horizonMs, headroom, seconds }: FleetRun): string {
  return (
    `${count(decisionsPerSecond)} decisions a second for ${count(merchants)} merchants (Zipf, exponent ${exponent}), ${count(seconds)} s\n` +
    `${count(instances)} instances, each merchant at ${count(spread)} of them; leases of ${count(horizonMs)} ms; limits of at least ${headroom} times the load`
  );
}

function fleetTable(figures: readonly FleetFigures[], cores: readonly FleetCores[]): string {
  return table(
    ['consistency', 'without a call', 'takes/s', 'reports/s', 'calls/s', 'takes a decision', 'admitted', 'Redis cores', 'gateway cores'],
    figures.map(({ consistency, seconds, decisions, admitted, withoutCall, takes, lends, calls }, i) => [
      consistency,
      share(withoutCall, decisions),
      count(Math.round(takes / seconds)),
      count(Math.round(lends / seconds)),
      count(Math.round(calls / seconds)),
      ((takes + lends) / decisions).toFixed(3),
      share(admitted, decisions),
      cores[i]!.redis.toFixed(2),
      cores[i]!.gateways.toFixed(2),
    ]),
  );
}

const share = (part: number, whole: number): string => `${((100 * part) / Math.max(1, whole)).toFixed(2)} %`;

function arithmetic(
  { consistency, seconds, decisions, takes, lends, withoutCall }: FleetFigures,
  costs: FleetCosts,
  cores: FleetCores,
): string {
  const perSecond = (value: number): string => count(Math.round(value / seconds));
  const withCall = perSecond(decisions - withoutCall + lends);
  return (
    `${consistency}: Redis ${perSecond(takes)} takes/s x ${costs.redisTakeUs} us + ${perSecond(lends)} reports/s x ${costs.redisLendUs} us = ${cores.redis.toFixed(2)} cores\n` +
    `${consistency}: gateways ${withCall} decisions and reports by call/s x ${costs.takeUs} us + ${perSecond(withoutCall)} without/s x ${costs.leasedUs.toFixed(2)} us = ${cores.gateways.toFixed(2)} cores`
  );
}

function sources({ leasedUs }: FleetOptions['costs']): string {
  const leased =
    leasedUs === undefined ? 'The cost of a leased decision was measured on this machine, with what the simulation adds. ' : '';
  return `Costs are those of docs/benchmarks.md unless given; a report of a lease is taken for as dear as a take by the general part of the scripts. ${leased}Forwarding is not in them.`;
}
