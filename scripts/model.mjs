/** npm run model: checks the model of leases, and that the checker finds each mistake that was put into it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isMain, ROOT } from './paths.mjs';
import { CLAIMS, LONG_CLAIMS, MODEL, VARIANTS, WALKS } from './model/leases.mjs';
import { obtainChecker, search, walk } from './model/spin.mjs';
import { traceOf } from './model/traces.mjs';

const HELP = `npm run model [-- --long] [--write]

Checks docs/models/leases.pml with spin, which is fetched if need be: what docs/leases.md promises must hold in every state, and each
variant of the protocol that lacks a part must fail.

  --long    larger numbers too: minutes, and up to 6 GB of memory
  --write   writes the traces of the variants, and some of the right protocol, to test/golden/lease-traces.json
  --help    this text`;

const TRACES = join(ROOT, 'test', 'golden', 'lease-traces.json');
/** Searches at a time: they are short, and the compiler takes most of their time. */
const AT_A_TIME = 2;

const COMMENT =
  'Written by npm run model -- --write, from docs/models/leases.pml. A bucket that starts full and gets a token a tick, leases of 2 ticks, an edit that halves the capacity. `at` is the tick; ' +
  '`left`, `granted`, `elsewhere` and `passes` are what the store of the model answers. spend and putBack happen in a gateway: the store is not told. ' +
  'The rows named after a mistake are the shortest ways to what it breaks, with the answers of the right store.';

/**
 * @param {{ long?: boolean, write?: boolean }} [options]
 * @returns {Promise<import('./check.mjs').Outcome>}
 */
export async function model({ long = false, write = false } = {}) {
  const checker = obtainChecker();
  if ('missing' in checker) return { skipped: checker.missing };
  const claims = (long ? [...CLAIMS, ...LONG_CLAIMS] : CLAIMS).map((claim) => ({ ...claim, mustFail: false }));
  const variants = VARIANTS.map((each) => ({ ...each, mustFail: true }));
  const answers = await inTurn([...claims, ...variants], async (question) => {
    const { violated, states, printed } = await search(checker, MODEL, question);
    const ok = violated === question.mustFail;
    console.log(`${ok ? 'ok    ' : 'FAILED'} ${question.mustFail ? 'a mistake is found: ' : ''}${question.title} (${states} states)`);
    if (violated && !ok) console.log(printed.join('\n'));
    return { ...question, ok, printed };
  });
  const ok = answers.every((answer) => answer.ok);
  if (ok && write)
    await writeTraces(
      checker,
      answers.filter(({ mustFail }) => mustFail),
    );
  return { ok };
}

/**
 * @param {import('./model/spin.mjs').Checker} checker
 * @param {(import('./model/leases.mjs').Question & { printed: string[] })[]} mistakes
 */
async function writeTraces(checker, mistakes) {
  const rows = mistakes.map((mistake) => traceOf(mistake, mistake.printed));
  for (const way of WALKS) rows.push(traceOf(way, await walk(checker, MODEL, way)));
  const lines = rows.filter(({ steps }) => steps.some((step) => step.do === 'lend')).map(textOf);
  writeFileSync(TRACES, `{\n  "$comment": ${JSON.stringify(COMMENT)},\n  "rows": [\n${lines.join(',\n')}\n  ]\n}\n`);
  console.log(`${lines.length} traces written`);
}

/** @param {ReturnType<typeof traceOf>} row */
function textOf({ id, title, capacity, steps }) {
  const lines = steps.map((step) => `        ${JSON.stringify(step)}`);
  return `    {\n      "id": ${JSON.stringify(id)}, "title": ${JSON.stringify(title)}, "capacity": ${capacity},\n      "steps": [\n${lines.join(',\n')}\n      ]\n    }`;
}

/**
 * @template T, R
 * @param {T[]} items
 * @param {(item: T) => Promise<R>} run
 * @returns {Promise<R[]>} in the order of the items
 */
async function inTurn(items, run) {
  /** @type {R[]} */
  const results = [];
  let next = 0;
  const work = async () => {
    for (let i = next++; i < items.length; i = next++) results[i] = await run(/** @type {T} */ (items[i]));
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return results;
}

if (isMain(import.meta.url)) {
  const { values } = parseArgs({ options: { long: { type: 'boolean' }, write: { type: 'boolean' }, help: { type: 'boolean' } } });
  if (values.help) console.log(HELP);
  else {
    const outcome = await model(values);
    if ('skipped' in outcome) console.warn(`SKIPPED: ${outcome.skipped}`);
    else if (!outcome.ok) process.exitCode = 1;
  }
}
