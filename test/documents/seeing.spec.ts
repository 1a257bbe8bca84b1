/** What Prometheus and Grafana are told in files agrees with what there is. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { obtainPromtool } from '../../scripts/services/fetch-linters.mjs';
import { listedMetrics } from '../support/metric-list.js';

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

const ALERTS = 'deploy/prometheus/tollgate-alerts.yml';
const { groups } = parse(readFileSync(ALERTS, 'utf8')) as { groups: { rules: Alert[] }[] };
const alerts = groups.flatMap(({ rules }) => rules);

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
}

const { panels } = JSON.parse(readFileSync('deploy/grafana/tollgate.json', 'utf8')) as Dashboard;

/** Every series that a listed metric has. */
const SERIES = new Set(
  listedMetrics().flatMap(({ name, type }) =>
    type === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => name + suffix) : [name],
  ),
);
const LABELS = new Map(listedMetrics().map(({ name, labels }) => [name, labels]));

function unknownIn(text: string): string[] {
  return (text.match(/tollgate_\w+/g) ?? []).filter((name) => !SERIES.has(name));
}

test.each(alerts.map((alert) => [alert.alert, alert] as const))('%s asks for metrics that there are', (_name, { expr }) => {
  expect(expr).toContain('tollgate_');
  expect(unknownIn(expr)).toEqual([]);
});

test.each(panels.map((panel) => [panel.title, panel] as const))('the panel "%s" asks for metrics that there are', (_title, { targets }) => {
  for (const { expr } of targets) {
    expect(expr).toContain('tollgate_');
    expect(unknownIn(expr)).toEqual([]);
  }
});

test('labels in selectors are labels of their metric', () => {
  const exprs = [...alerts.map(({ expr }) => expr), ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))];
  const selectors = exprs.flatMap((expr) => [...expr.matchAll(/(tollgate_\w+)\{(\w+)[=!]/g)]);
  expect(selectors.length).toBeGreaterThan(2);
  for (const [, metric, label] of selectors) expect([metric, LABELS.get(metric!)]).toEqual([metric, expect.arrayContaining([label])]);
});

test('every alert has a page, which says what it means, how to see it and what to do, and no page is left over', () => {
  const pages = readdirSync('docs/runbooks').map((file) => `docs/runbooks/${file}`);
  expect(alerts.map(({ annotations }) => annotations.runbook).sort()).toEqual(pages.sort());
  for (const { alert, annotations } of alerts) {
    const page = readFileSync(annotations.runbook, 'utf8');
    expect(page.split('\n')[0]).toBe(`# ${alert}`);
    for (const heading of ['## What it means', '## How to see it', '## What to do']) expect(page).toContain(heading);
    const named = page.match(/tollgate_\w+/g) ?? [];
    expect(named.filter((name) => !LABELS.has(name))).toEqual([]);
  }
});

/** What promtool compares an alert with: when it is to fire, and when not. */
interface AlertTest {
  readonly alertname: string;
  readonly exp_alerts: readonly { readonly exp_annotations: Alert['annotations'] }[];
}

const ALERT_TESTS = 'deploy/prometheus/tollgate-alerts.test.yml';
const { tests: cases } = parse(readFileSync(ALERT_TESTS, 'utf8')) as { tests: { alert_rule_test: AlertTest[] }[] };

test('every alert is tested, with series of which it is to tell and with others', () => {
  const tests = cases.flatMap(({ alert_rule_test: each }) => each);
  for (const { alert, annotations } of alerts) {
    const expected = tests.filter(({ alertname }) => alertname === alert).map(({ exp_alerts: told }) => told);
    expect([alert, expected.map((told) => told.length).sort()]).toEqual([alert, [0, 1]]);
    expect(expected.flat()[0]!.exp_annotations.runbook).toBe(annotations.runbook);
  }
  expect(new Set(tests.map(({ alertname }) => alertname)).size).toBe(alerts.length);
});

test('series in the tests of alerts are ones that there are', () => {
  expect(unknownIn(readFileSync(ALERT_TESTS, 'utf8').replaceAll(/^rule_files.*$/gm, ''))).toEqual([]);
});

const promtool = obtainPromtool();
if (!promtool)
  console.warn(
    `SKIPPED: promtool is not on PATH and could not be fetched (Debian: apt-get install prometheus), so ${ALERTS} is not checked by it`,
  );

function promtoolSays(...args: string[]) {
  const { program, env } = promtool!;
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', env });
  return [status, stdout + stderr];
}

(promtool ? test : test.skip)('promtool finds nothing wrong with the alerts', () => {
  expect(promtoolSays('check', 'rules', ALERTS)).toEqual([0, expect.stringContaining('SUCCESS')]);
});

(promtool ? test : test.skip)('alerts fire when they should, and not otherwise', () => {
  expect(promtoolSays('test', 'rules', ALERT_TESTS)).toEqual([0, expect.stringContaining('SUCCESS')]);
});
