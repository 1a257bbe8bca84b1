/** The metrics as docs/metrics.md lists them, and as an app serves them. */
import { readFileSync } from 'node:fs';

export interface ListedMetric {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly apps: readonly string[];
}

const PAGE = new URL('../../docs/metrics.md', import.meta.url);
const ROW = /^\| `(?<name>\w+)` \| (?<type>\w+) \|(?<labels>[^|]*)\| (?<apps>[^|]+) \| \S/;

/** @throws if a row of the tables cannot be read: it would not be compared then */
export function listedMetrics(): ListedMetric[] {
  const rows = readFileSync(PAGE, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  return rows.map((row) => {
    const { name, type, labels, apps } = ROW.exec(row)?.groups ?? {};
    if (name === undefined || type === undefined || apps === undefined) throw new Error(`docs/metrics.md: not a row of a metric: ${row}`);
    return { name, type, labels: [...(labels ?? '').matchAll(/`(\w+)`/g)].map(([, label]) => label!), apps: apps.split(', ') };
  });
}

/** What a page of metrics says, without the metrics of every Node process: each metric's type, and the labels that its series have. */
export function servedMetrics(page: string): Map<string, { type: string; labels: Set<string> }> {
  const served = new Map<string, { type: string; labels: Set<string> }>();
  for (const line of page.split('\n')) {
    const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (name !== undefined && type !== undefined && !/^(process|nodejs)_/.test(name)) served.set(name, { type, labels: new Set() });
    const [, series, labels] = /^(\w+)\{(.*)\} \S+$/.exec(line) ?? [];
    const metric = series === undefined ? undefined : (served.get(series) ?? served.get(series.replace(/_(bucket|sum|count)$/, '')));
    for (const [, label] of labels?.matchAll(/(\w+)="/g) ?? []) if (label !== 'app' && label !== 'le') metric?.labels.add(label!);
  }
  return served;
}
