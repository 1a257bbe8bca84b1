import { expected, oneOf, optionalToken, wholeNumber, type Variable } from './variable.js';

const MOST_WATCHED_RULES = 200;

function ruleIds(text: string): readonly string[] {
  if (text === 'none') return [];
  const ids = text.split(',').map((id) => id.trim());
  const fits = ids.length <= MOST_WATCHED_RULES && ids.every((id) => /^[1-9][0-9]{0,18}$/.test(id)) && new Set(ids).size === ids.length;
  return fits ? ids : expected(`none, or at most ${MOST_WATCHED_RULES} ids of rules, each once, separated by commas`);
}

function collectorUrl(text: string): URL | undefined {
  if (text === '') return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const fits = url && /^https?:$/.test(url.protocol) && url.search + url.hash + url.username + url.password === '';
  return fits ? url : expected('an http or https URL like http://127.0.0.1:4318, without credentials, query and fragment');
}

/** As OpenTelemetry writes them: `name=value`, separated by commas, percent-encoded where need be. */
function collectorHeaders(text: string): Readonly<Record<string, string>> {
  const pairs = text === '' ? [] : text.split(',').map((pair) => /^\s*([A-Za-z0-9!#$%&'*+.^_`|~-]+)=([\x21-\x7e]*)\s*$/.exec(pair));
  try {
    return Object.fromEntries(pairs.map((pair) => [pair![1]!.toLowerCase(), visible(decodeURIComponent(pair![2]!))]));
  } catch {
    return expected('headers like authorization=Basic%20dXNlcg==, separated by commas, their values percent-encoded');
  }
}

function visible(value: string): string {
  return /^[\x20-\x7e]*$/.test(value) ? value : expected('visible characters');
}

function ratio(text: string): number {
  const value = /^(0|1|0?\.\d{1,9}|1\.0+)$/.test(text) ? Number(text) : NaN;
  return value >= 0 && value <= 1 ? value : expected('a number from 0 to 1 like 0.01');
}

/** What the gateway tells of single requests and rules, in the order in which help texts print them. */
export const SEEING_VARIABLES = {
  metricRules: {
    name: 'METRIC_RULES',
    apps: ['gateway', 'decision-api'],
    default: 'none',
    meaning: 'ids of rules whose requests are counted each by itself in tollgate_rule_requests_total, separated by commas, or none',
    parse: ruleIds,
  },
  refusalLinesPerSecond: {
    name: 'REFUSAL_LINES_PER_SECOND',
    apps: ['gateway', 'decision-api'],
    default: '20',
    meaning: 'lines of the log in a second, one for each refused request, a quarter of them for one merchant; 0: none',
    parse: wholeNumber(0, 1_000, ' lines a second'),
  },
  accessLog: {
    name: 'ACCESS_LOG',
    apps: ['gateway'],
    default: 'false',
    meaning: 'whether every request gets a line of the log when it has ended: true or false',
    parse: (text: string): boolean => oneOf(['true', 'false'])(text) === 'true',
  },
  receiptHashKey: {
    name: 'RECEIPT_HASH_KEY',
    apps: ['gateway', 'decision-api'],
    default: '',
    secret: true,
    meaning:
      'secret with which addresses and other personal parts of bucket keys are hashed in receipts and in the log, at least 16 characters; unset: a random one for each process',
    parse: optionalToken,
  },
  traceCollector: {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    apps: ['gateway'],
    default: '',
    meaning: 'collector that gets traces by OTLP over HTTP, at /v1/traces below this URL; unset: there are no traces',
    parse: collectorUrl,
  },
  traceCollectorHeaders: {
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    apps: ['gateway'],
    default: '',
    secret: true,
    meaning: 'headers for the collector, like authorization=Basic%20dXNlcg==, separated by commas',
    parse: collectorHeaders,
  },
  traceRatio: {
    name: 'OTEL_TRACES_SAMPLER_ARG',
    apps: ['gateway'],
    default: '0.01',
    meaning: 'part of the requests that are traced, 0 to 1; a trusted proxy that has decided for a request is followed',
    parse: ratio,
  },
} as const satisfies Record<string, Variable<unknown>>;
