/** deploy/kubernetes against the JSON schemas of Kubernetes, by kubeconform. What of that is not here is fetched; where it cannot be had, the check is skipped, and says so. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../paths.mjs';
import { obtainFromGo } from '../services/fetch-linters.mjs';
import { obtainPython } from '../services/python.mjs';

/** @typedef {import('../check.mjs').Outcome} Outcome */
/** @typedef {{ apiVersion: string, kind: string }} Manifest */

const KUBECONFORM = 'github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0';
/** kubeconform would get schemas from GitHub. This package of PyPI has them in one file of which the hash can be pinned. */
const SCHEMAS = {
  title: 'the schemas of Kubernetes',
  name: 'kubernetes-schemas',
  requirements: `--only-binary :all:
kubernetes-validate==1.37.0 --hash=sha256:85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9
`,
};
/** The newest version of which there are schemas, and the oldest that gets patches: the kinds that are used must be in both. */
const KUBERNETES = ['v1.37.0', 'v1.34.0'];
const MANIFESTS = join(ROOT, 'deploy', 'kubernetes');
const IGNORED = 'kustomization.yaml';
const WITHIN_MS = 120_000;

/** @returns {Promise<Outcome>} */
export async function kubeconform() {
  const program = obtainFromGo('kubeconform', KUBECONFORM, '-v')?.program;
  if (!program) return { skipped: 'kubeconform is not on PATH and could not be compiled: that takes Go, and the network' };
  const python = await obtainPython(SCHEMAS);
  if ('missing' in python) return { skipped: python.missing };
  const schemas = schemasOf(join(python.bin, 'python'));
  const names = await namesOfSchemas();
  return { ok: KUBERNETES.every((version) => conforms(program, join(schemas, `${version}-local-strict`), names)) };
}

/** @param {string} program @param {string} schemas @param {readonly string[]} names */
function conforms(program, schemas, names) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-kubernetes-'));
  try {
    writeWholeSchemas(names, schemas, folder);
    const location = join(folder, '{{.ResourceKind}}{{.KindSuffix}}.json');
    return succeeds(program, ['-strict', '-summary', '-ignore-filename-pattern', IGNORED, '-schema-location', location, MANIFESTS]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The schemas of the kinds in our manifests, each with all that it refers to in one file, as kubeconform wants them.
 * @param {readonly string[]} names
 * @param {string} from
 * @param {string} to
 */
function writeWholeSchemas(names, from, to) {
  const { $defs } = JSON.parse(withOwnReferences(join(from, '_definitions.json')));
  for (const name of names) {
    const file = `${name}.json`;
    // One that is missing is reported by kubeconform.
    if (!existsSync(join(from, file))) continue;
    writeFileSync(join(to, file), JSON.stringify({ ...JSON.parse(withOwnReferences(join(from, file))), $defs }));
  }
}

/** @param {string} file */
const withOwnReferences = (file) => readFileSync(file, 'utf8').replaceAll('/api/_definitions.json#', '#');

/** Of the kinds in our manifests. @returns {Promise<string[]>} */
async function namesOfSchemas() {
  // This file is read before anything is installed.
  const { parseAllDocuments } = await import('yaml');
  const files = readdirSync(MANIFESTS).filter((file) => file.endsWith('.yaml') && file !== IGNORED);
  return files
    .flatMap((file) => parseAllDocuments(readFileSync(join(MANIFESTS, file), 'utf8')))
    .map((document) => nameOf(document.toJSON()));
}

/** As kubeconform calls schemas: the kind, the first word of the group, the version. @param {Manifest} manifest */
function nameOf({ apiVersion, kind }) {
  const [version = '', group] = apiVersion.split('/').reverse();
  return [kind.toLowerCase(), ...(group === undefined ? [] : [group.split('.')[0]]), version].join('-');
}

/** @param {string} python with the package @returns {string} the folder with a folder for each version of Kubernetes */
function schemasOf(python) {
  const { stdout } = spawnSync(python, ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'], { encoding: 'utf8' });
  return join(stdout.trim(), 'kubernetes_validate', 'kubernetes-json-schema');
}

/** @param {string} program @param {string[]} args */
const succeeds = (program, args) => spawnSync(program, args, { cwd: ROOT, stdio: 'inherit', timeout: WITHIN_MS }).status === 0;
