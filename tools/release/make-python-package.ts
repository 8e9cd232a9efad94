import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLIENT_PACKAGE } from '@coxswain/local-cluster';
import { command } from '../campaigns/real-node/command.ts';
import { billOfMaterials } from '../images/bill-of-materials.ts';
import { coxswainVersion, ROOT } from '../images/image-names.ts';
import { lockedPackages, requirementsOf } from './python-lock.ts';
import type { ReleaseWork } from './release-work.ts';

/** Pythons and processors whose packages lie in a release. */
export const PYTHON_TARGETS: readonly PythonTarget[] = ['3.10', '3.11', '3.12', '3.13', '3.14'].flatMap((version) =>
  ['x86_64', 'aarch64'].map((machine) => ({ version, machine })),
);

/** A Python on Linux. */
export interface PythonTarget {
  /** Such as `3.12`. */
  readonly version: string;
  /** As `uname -m` has it. */
  readonly machine: string;
}

/** Calls the backend as pip and build do, in the folder of the package. */
const BUILD = `
import sys
from flit_core import buildapi
buildapi.build_wheel(sys.argv[1])
buildapi.build_sdist(sys.argv[1])
`;
const PIP = ['-m', 'pip', '--disable-pip-version-check', '--no-input'];
const RUN_LOCK = join(CLIENT_PACKAGE, 'requirements-run.lock');

/** Writes the Python package to the folder `python`, and what it needs to `python/dependencies`. flit takes the time of every file from the environment. */
export async function makePythonPackage(
  { out, temporary, seconds }: Omit<ReleaseWork, 'progress'>,
  targets: readonly PythonTarget[] = PYTHON_TARGETS,
): Promise<void> {
  const [folder, staged, backend] = [join(out, 'python'), join(temporary, 'python'), join(temporary, 'backend')];
  for (const each of [folder, staged]) mkdirSync(each, { recursive: true });
  for (const name of ['pyproject.toml', 'README.md', 'coxswain']) {
    const isSource = (path: string): boolean => !path.endsWith('__pycache__');
    cpSync(join(CLIENT_PACKAGE, name), join(staged, name), { recursive: true, filter: isSource });
  }
  copyFileSync(join(ROOT, 'LICENSE'), join(staged, 'LICENSE'));
  const build = ['--require-hashes', '--no-deps', '-r', join(CLIENT_PACKAGE, 'requirements-build.lock')];
  await command('python3', [...PIP, 'install', '--quiet', '--target', backend, ...build]);
  await command('python3', ['-c', BUILD, folder], {
    cwd: staged,
    env: { PYTHONPATH: backend, SOURCE_DATE_EPOCH: String(seconds), PYTHONDONTWRITEBYTECODE: '1' },
  });
  const needed = lockedPackages(readFileSync(RUN_LOCK, 'utf8'));
  const requirements = join(temporary, 'requirements.txt');
  writeFileSync(requirements, requirementsOf(needed));
  for (const target of targets) await download(requirements, target, join(folder, 'dependencies'));
  const version = coxswainVersion();
  const components = needed.map((one) => ({
    type: 'library' as const,
    name: one.name,
    version: one.version,
    purl: `pkg:pypi/${one.name}@${one.version}`,
  }));
  const bill = billOfMaterials({ type: 'library', name: 'coxswain', version }, components);
  writeFileSync(join(folder, `coxswain-${version}.sbom.cdx.json`), bill);
}

/** Wheels alone, because those who install them may have no compiler. */
async function download(requirements: string, { version, machine }: PythonTarget, folder: string): Promise<void> {
  const platforms = ['manylinux2014', 'manylinux_2_17', 'manylinux_2_28'].map(
    (name) => `--platform=${name}_${machine}`,
  );
  const target = [`--python-version=${version}`, '--implementation=cp', '--only-binary=:all:', ...platforms];
  const what = ['--require-hashes', '--no-deps', '-r', requirements, '--dest', folder, '--quiet'];
  await command('python3', [...PIP, 'download', ...target, ...what]);
}
