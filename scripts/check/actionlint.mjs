/** .github/workflows by actionlint, which knows their language. */
import { spawnSync } from 'node:child_process';
import { ROOT } from '../paths.mjs';
import { obtainFromGo } from '../services/fetch-linters.mjs';

/** @returns {import('../check.mjs').Outcome} */
export function actionlint() {
  const command = obtainFromGo('actionlint', 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12', '-version');
  if (!command) return { skipped: 'actionlint is not on PATH, and there is no Go to compile it' };
  return { ok: spawnSync(command.program, [], { cwd: ROOT, stdio: 'inherit', env: command.env }).status === 0 };
}
