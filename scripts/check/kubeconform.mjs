/** deploy/kubernetes against the JSON schemas of Kubernetes, which kubeconform gets from the network. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../paths.mjs';

/** @returns {import('../check.mjs').Outcome} */
export function kubeconform() {
  if (spawnSync('kubeconform', ['-v'], { stdio: 'ignore' }).status !== 0)
    return {
      skipped:
        'kubeconform is not there (go install github.com/yannh/kubeconform/cmd/kubeconform@latest), so the manifests are not checked against their schemas',
    };
  const { status, stdout } = spawnSync(
    'kubeconform',
    ['-strict', '-summary', '-ignore-filename-pattern', 'kustomization.yaml', join(ROOT, 'deploy', 'kubernetes')],
    {
      encoding: 'utf8',
    },
  );
  console.log(stdout.trim());
  // Without the network it knows no schema, which says nothing about the manifests.
  if (status !== 0 && !/Invalid: [1-9]/.test(stdout) && stdout.includes('failed downloading schema'))
    return { skipped: 'kubeconform reaches no schemas' };
  return { ok: status === 0 };
}
