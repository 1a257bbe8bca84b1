/**
 * Loaded by a gateway before anything else (node --import), so that a test can take from it what a machine gives every process: names that resolve, and the
 * time. What the file TOLLGATE_PRETEND says holds from now on: see Machine.
 */
import dns from 'node:dns';
import { readFileSync } from 'node:fs';

const FILE = process.env['TOLLGATE_PRETEND'] ?? '';
const LOOK_AGAIN_MS = 20;
/** As long a resolver tries, by default, before it gives a silent server up. */
const SILENT_MS = 5000;

let machine = { names: 'resolve', aheadMs: 0 };

function look() {
  try {
    machine = JSON.parse(readFileSync(FILE, 'utf8'));
  } catch {
    // It is being written.
  }
}

look();
setInterval(look, LOOK_AGAIN_MS).unref();

const lookup = /** @type {any} */ (dns.lookup);
/** @param {string} hostname @param {...any} rest options, perhaps, and a callback */
const pretended = (hostname, ...rest) => {
  if (!hostname.endsWith('.tollgate.test')) return lookup(hostname, ...rest);
  if (machine.names === 'resolve') return lookup('127.0.0.1', ...rest);
  const error = Object.assign(new Error(`getaddrinfo EAI_AGAIN ${hostname}`), { code: 'EAI_AGAIN', syscall: 'getaddrinfo', hostname });
  setTimeout(() => rest.at(-1)(error), machine.names === 'silent' ? SILENT_MS : 0);
};
dns.lookup = /** @type {any} */ (pretended);

const now = Date.now;
Date.now = () => now() + machine.aheadMs;
globalThis.Date = new Proxy(Date, {
  construct: (date, parameters, target) => Reflect.construct(date, parameters.length === 0 ? [Date.now()] : parameters, target),
});
