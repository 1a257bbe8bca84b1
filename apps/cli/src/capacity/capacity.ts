import { join } from 'node:path';
import { ROOT } from '#scripts/paths.mjs';
import { afterHelp, newCommand } from '../shared/command.js';
import { decimal, Faults, wholeNumber } from '../shared/options.js';
import { note, print, table } from '../shared/output.js';
import { figuresIn, type Figures } from './measured.js';
import { planOf, type Line, type Load, type Plan } from './plan.js';

const PUBLISHED = join(ROOT, 'bench', 'published.json');

const ABOUT = [
  `The figures are what npm run bench measured, on the machine and on the day that the output names: one gateway worker on one core, Redis with a
core of its own. Measure on a machine like yours (npm run bench -- --only NAME --record) before you buy others. Workers are taken to add up,
and so are shards. docs/scaling.md says how the parts are run.`,
];

export function command() {
  const faults = new Faults();
  return newCommand('capacity', 'Says how many gateways, Redis shards and bytes a load needs, and shows the arithmetic.')
    .addOption(wholeNumber('--rps <n>', 'requests a second at the busiest time', { min: 1, max: 100_000_000, default: 10_000 }, faults))
    .addOption(wholeNumber('--merchants <n>', 'merchants that exist', { min: 1, max: 100_000_000, default: 100_000 }, faults))
    .addOption(decimal('--hot <share>', 'share of the requests that the busiest merchant sends', { min: 0, max: 1, default: 0 }, faults))
    .addOption(
      decimal(
        '--leased <share>',
        'share of the requests of merchants with leased rules, the busiest first',
        { min: 0, max: 1, default: 0 },
        faults,
      ),
    )
    .addOption(wholeNumber('--leased-merchants <n>', 'merchants with leased rules', { min: 1, max: 1_000_000, default: 1 }, faults))
    .addOption(
      wholeNumber(
        '--takes <n>',
        'buckets that a request takes from: limits of the rules that match',
        { min: 1, max: 32, default: 1 },
        faults,
      ),
    )
    .addOption(wholeNumber('--buckets <n>', 'live buckets a merchant', { min: 1, max: 10_000, default: 1 }, faults))
    .addOption(decimal('--own <share>', 'share of merchants with rules of their own', { min: 0, max: 1, default: 1 }, faults))
    .addOption(wholeNumber('--cores <n>', 'cores of a gateway machine', { min: 1, max: 128, default: 4 }, faults))
    .addOption(decimal('--busy <share>', 'how busy a core may be', { min: 0.1, max: 0.9, default: 0.6 }, faults))
    .addOption(wholeNumber('--spare <n>', 'gateway machines that may fail at once', { min: 0, max: 100, default: 1 }, faults))
    .option('--json', 'print the load, the figures and the plan as JSON')
    .addHelpText(
      'after',
      afterHelp(ABOUT, [
        'npx tollgate capacity --rps 300000 --merchants 2000000 --hot 0.2',
        'npx tollgate capacity --rps 300000 --merchants 2000000 --hot 0.2 --leased 0.5 --leased-merchants 100',
        'npx tollgate capacity --rps 5000 --takes 2 --json',
      ]),
    )
    .action(({ json = false, ...load }: Load & { json?: boolean }) => {
      faults.demandNone();
      const figures = figuresIn(PUBLISHED);
      const plan = planOf(load, figures);
      if (json) print(JSON.stringify({ load, figures, plan }, null, 2));
      else printPlan(plan, figures);
    });
}

function printPlan(plan: Plan, figures: Figures): void {
  const rows = plan.lines.map((line) => [line.what, shown(line), line.because]);
  print(table(['', 'needed', 'because'], rows, 'words'));
  if (plan.needsLeases)
    print(
      '\nThe busiest merchant asks for more than half of what one Redis carries: its rules need `"consistency": "leased"`, and are reckoned so.',
    );
  const runs = [...new Set(Object.values(figures).map(({ run }) => run))];
  note(`\nMeasured on ${runs.join(' and on ')}. Figures of other machines differ.`);
}

function shown({ value, unit }: Line): string {
  if (unit === 'bytes') return value >= 1e9 ? `${(value / 1e9).toFixed(1)} GB` : `${(value / 1e6).toFixed(1)} MB`;
  if (unit === 'seconds') return `${value.toFixed(0)} s`;
  return unit === 'per_second' ? `${value.toLocaleString('en')} /s` : value.toLocaleString('en');
}
