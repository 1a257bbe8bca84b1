/** deploy/kubernetes against the JSON schemas of Kubernetes, which kubeconform gets from the network. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../paths.mjs';
import { obtainFromGo } from '../services/fetch-linters.mjs';

/** @returns {import('../check.mjs').Outcome} */
export function kubeconform() {
  const command = obtainFromGo('kubeconform', 'github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0', '-v');
  if (!command)
    return {
      skipped: 'kubeconform is not on PATH, and there is no Go to compile it, so the manifests are not checked against their schemas',
    };
  const { status, stdout } = spawnSync(
    command.program,
    ['-strict', '-summary', '-ignore-filename-pattern', 'kustomization.yaml', join(ROOT, 'deploy', 'kubernetes')],
    {
      encoding: 'utf8',
      env: command.env,
    },
  );
  // Without the network it knows no schema, which says nothing about the manifests.
  if (status !== 0 && !/Invalid: [1-9]/.test(stdout) && stdout.includes('failed downloading schema'))
    return { skipped: 'kubeconform reaches no schemas' };
  console.log(stdout.trim());
  return { ok: status === 0 };
}
