/** deploy/kubernetes against the JSON schemas of Kubernetes, by kubeconform. What of that is not here is fetched; where it cannot be had, the check is skipped, and says so. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { ROOT, TOOLS } from '../paths.mjs';
import { findProgram } from '../processes.mjs';
import { obtainFromGo } from '../services/fetch-linters.mjs';

/** @typedef {import('../check.mjs').Outcome} Outcome */
/** @typedef {{ apiVersion: string, kind: string }} Manifest */

const KUBECONFORM = 'github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0';
/** kubeconform would get schemas from GitHub. This package of PyPI has them in one file of which the hash can be pinned. */
const SCHEMAS = { version: '1.37.0', hash: '85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9' };
/** The newest version of which there are schemas, and the oldest that gets patches: the kinds that are used must be in both. */
const KUBERNETES = ['v1.37.0', 'v1.34.0'];
const MANIFESTS = join(ROOT, 'deploy', 'kubernetes');
const IGNORED = 'kustomization.yaml';
const INSTALL_MS = 120_000;

/** @returns {Outcome} */
export function kubeconform() {
  const program = obtainFromGo('kubeconform', KUBECONFORM, '-v')?.program;
  if (!program) return { skipped: 'kubeconform is not on PATH and could not be compiled: that takes Go, and the network' };
  const schemas = obtainSchemas();
  if (!schemas) return { skipped: 'the schemas of Kubernetes could not be fetched: that takes python3 with pip, and the network' };
  return { ok: KUBERNETES.every((version) => conforms(program, join(schemas, `${version}-local-strict`))) };
}

/** @param {string} program @param {string} schemas */
function conforms(program, schemas) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-kubernetes-'));
  try {
    writeWholeSchemas(schemas, folder);
    const location = join(folder, '{{.ResourceKind}}{{.KindSuffix}}.json');
    return succeeds(program, ['-strict', '-summary', '-ignore-filename-pattern', IGNORED, '-schema-location', location, MANIFESTS]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The schemas of the kinds in our manifests, each with all that it refers to in one file, as kubeconform wants them.
 * @param {string} from
 * @param {string} to
 */
function writeWholeSchemas(from, to) {
  const { $defs } = JSON.parse(withOwnReferences(join(from, '_definitions.json')));
  for (const manifest of manifests()) {
    const file = `${nameOf(manifest)}.json`;
    // One that is missing is reported by kubeconform.
    if (!existsSync(join(from, file))) continue;
    writeFileSync(join(to, file), JSON.stringify({ ...JSON.parse(withOwnReferences(join(from, file))), $defs }));
  }
}

/** @param {string} file */
const withOwnReferences = (file) => readFileSync(file, 'utf8').replaceAll('/api/_definitions.json#', '#');

/** @returns {Manifest[]} */
function manifests() {
  const files = readdirSync(MANIFESTS).filter((file) => file.endsWith('.yaml') && file !== IGNORED);
  return files.flatMap((file) => parseAllDocuments(readFileSync(join(MANIFESTS, file), 'utf8')).map((document) => document.toJSON()));
}

/** As kubeconform calls schemas: the kind, the first word of the group, the version. @param {Manifest} manifest */
function nameOf({ apiVersion, kind }) {
  const [version = '', group] = apiVersion.split('/').reverse();
  return [kind.toLowerCase(), ...(group === undefined ? [] : [group.split('.')[0]]), version].join('-');
}

/** @returns {string | undefined} the folder with a folder for each version of Kubernetes */
function obtainSchemas() {
  const folder = join(TOOLS, `kubernetes-schemas-${SCHEMAS.version}`);
  const schemas = join(folder, 'kubernetes_validate', 'kubernetes-json-schema');
  if (existsSync(schemas)) return schemas;
  const python = findProgram(['python3']);
  if (!python) return undefined;
  mkdirSync(TOOLS, { recursive: true });
  const half = mkdtempSync(join(TOOLS, 'half-'));
  try {
    const list = join(half, 'requirements.txt');
    writeFileSync(list, `kubernetes-validate==${SCHEMAS.version} --hash=sha256:${SCHEMAS.hash}\n`);
    const quiet = ['--quiet', '--no-input', '--disable-pip-version-check', '--retries=1', '--no-compile', '--no-deps'];
    const only = ['--only-binary', ':all:', '--require-hashes', '--requirement', list, '--target', half];
    if (!succeeds(python, ['-m', 'pip', 'install', ...quiet, ...only])) return undefined;
    renameSync(half, folder);
    return schemas;
  } finally {
    rmSync(half, { recursive: true, force: true });
  }
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {Record<string, string>} [env]
 */
function succeeds(program, args, env = {}) {
  const options = { cwd: ROOT, stdio: /** @type {const} */ ('inherit'), timeout: INSTALL_MS, env: { ...process.env, ...env } };
  return spawnSync(program, args, options).status === 0;
}
