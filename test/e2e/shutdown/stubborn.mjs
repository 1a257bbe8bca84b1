/** A process that lives by the lifecycle of our apps and is ill in the way that its argument says. It says `ready` on stderr. */
import { pbkdf2 } from 'node:crypto';
import { writeSync } from 'node:fs';
import { createLogger, Health, runUntilSignal } from '#platform';

const logger = createLogger('gateway', 'info');
const [illness, graceMs] = process.argv.slice(2);

const close = {
  'ends at once': () => {},
  'never ends': () => new Promise(() => {}),
  'blocks the event loop': () => {
    for (;;);
  },
  fails: () => Promise.reject(new Error('nothing works')),
  // A thread of the pool that hangs, as one does in a name look-up. process.exit waits for it.
  'leaves a thread at work': () => pbkdf2('a', 'b', 2_000_000_000, 64, 'sha512', () => {}),
  'throws where nobody catches': () =>
    new Promise(() =>
      setImmediate(() => {
        throw new Error('nobody');
      }),
    ),
}[illness];

// More than any pipe holds, and more than is kept for a reader who is behind.
if (process.env['FLOOD']) for (let line = 0; line < 4_000; line++) logger.info({ filling: 'x'.repeat(1_000) }, 'flood');

runUntilSignal({ logger, health: new Health(), graceMs: Number(graceMs), close: async () => close() });
setInterval(() => {}, 1_000);
writeSync(2, 'ready\n');
