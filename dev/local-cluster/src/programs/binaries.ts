import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onPath } from '../process/processes.ts';

/** The programs of a local cluster, at the versions this repository is developed against. */
export const BINARY_VERSIONS = {
  etcd: '3.6.8',
  'kube-apiserver': '1.37.0',
  'kube-scheduler': '1.37.0',
  'kube-controller-manager': '1.37.0',
  kubectl: '1.37.0',
  helm: '4.3.1',
  kwok: '0.8.0',
  kubelet: '1.37.0',
  'kube-proxy': '1.37.0',
  coredns: '1.15.0',
  gofakes3: '1.2.0',
  versitygw: '1.8.0',
  kueue: '0.19.2',
  jobset: '0.10.1',
  'training-operator': '1.9.3',
  promtool: '3.15.0',
} as const;

/** One of the programs of a local cluster. */
export type BinaryName = keyof typeof BINARY_VERSIONS;

const GO_MODULES = join(import.meta.dirname, '../../../../tools/go');

const VERSION_ARGS: Partial<Record<BinaryName, readonly string[]>> = {
  helm: ['version', '--short'],
  kubectl: ['version', '--client'],
  coredns: ['-version'],
};
/** Programs of a node have a module of their own, so that what they ask for leaves the others' builds as they are. */
const MODULES: Partial<Record<BinaryName, string>> = {
  etcd: 'etcd',
  helm: 'helm',
  kwok: 'kwok',
  kubelet: 'node',
  'kube-proxy': 'node',
  coredns: 'coredns',
  gofakes3: 'gofakes3',
  versitygw: 'versitygw',
  kueue: 'kueue',
  jobset: 'jobset',
  'training-operator': 'training-operator',
  promtool: 'promtool',
};

/** Where everything that takes long to make is kept between runs. */
export function cacheDirectory(): string {
  const base = process.env['XDG_CACHE_HOME'];
  return join(base === undefined || base === '' ? join(homedir(), '.cache') : base, 'coxswain');
}

/** By name and by where it is looked for: a process that changes its environment, as a test does, finds another program. */
const found = new Map<string, Promise<string | undefined>>();

/** The path of `name`: from `KUBEBUILDER_ASSETS`, PATH (each only at the right version) or the cache. */
export async function findBinary(name: BinaryName): Promise<string> {
  const path = await lookUpBinary(name);
  if (path === undefined) {
    throw new Error(`${name} ${BINARY_VERSIONS[name]} is not here yet; run "npm run setup" once`);
  }
  return path;
}

/** Like {@link findBinary}, without an error when it has yet to be made. */
export async function lookUpBinary(name: BinaryName): Promise<string | undefined> {
  const key = [name, process.env['KUBEBUILDER_ASSETS'], process.env['PATH'], cacheDirectory()].join('\n');
  const known = found.get(key) ?? search(name);
  found.set(key, known);
  const path = await known;
  if (path === undefined) {
    found.delete(key); // Set-up may make it yet.
  }
  return path;
}

async function search(name: BinaryName): Promise<string | undefined> {
  const assets = process.env['KUBEBUILDER_ASSETS'];
  const candidates = [assets === undefined ? undefined : join(assets, name), onPath(name)];
  for (const candidate of candidates) {
    if (candidate !== undefined && existsSync(candidate) && (await hasVersion(name, candidate))) {
      return candidate;
    }
  }
  const cached = cachedBinary(name);
  return existsSync(cached) ? cached : undefined;
}

/** Where set-up puts `name`. Another version, or other modules to build it from, is another place. */
export function cachedBinary(name: BinaryName): string {
  return join(cacheDirectory(), 'bin', `${name}-${BINARY_VERSIONS[name]}-${moduleHash(goModuleOf(name))}`, name);
}

/** The folder of the pinned Go module that `name` can be built from. */
export function goModuleOf(name: BinaryName): string {
  return join(GO_MODULES, MODULES[name] ?? 'kubernetes');
}

function moduleHash(folder: string): string {
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'go.sum']) {
    hash.update(readFileSync(join(folder, file)));
  }
  return hash.digest('hex').slice(0, 12);
}

/** Whether the program at `path` says that it is the version wanted here. */
export async function hasVersion(name: BinaryName, path: string): Promise<boolean> {
  try {
    const { stdout } = await promisify(execFile)(path, [...(VERSION_ARGS[name] ?? ['--version'])], { timeout: 10_000 });
    const versions = stdout.match(/\d+\.\d+\.\d+/g) ?? [];
    return versions[0] === BINARY_VERSIONS[name];
  } catch {
    return false; // It does not even run here.
  }
}
