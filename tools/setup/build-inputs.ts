import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A workspace that has a build script: its folder, relative to the root, and the script. */
export interface BuiltWorkspace {
  readonly folder: string;
  readonly script: string;
}

interface Manifest {
  readonly name: string;
  readonly scripts?: { readonly build?: string };
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** What every build reads beside sources: the packages' versions (Node is one of them) and how TypeScript is to be taken. */
const SHARED_INPUTS = ['package-lock.json', 'tsconfig.json'];
/** Nothing that is built imports these. */
const NO_INPUTS = ['**/node_modules/**', '**/dist/**', '**/*.spec.ts', '**/*.itest.ts'];

/** The workspaces below `root` that have a build script. */
export function builtWorkspaces(root: string): BuiltWorkspace[] {
  return [...manifestsByFolder(root)].flatMap(([folder, { scripts }]) =>
    scripts?.build === undefined ? [] : [{ folder, script: scripts.build }],
  );
}

/**
 * A hash of everything that the build of `workspace` reads: names and contents of the files in its own folder and in the workspaces that it depends on,
 * directly or not. What all builds share is in it too.
 */
export function inputHash(root: string, workspace: BuiltWorkspace): string {
  const hash = createHash('sha256');
  for (const path of inputFiles(root, workspace)) {
    const content = readFileSync(join(root, path));
    hash.update(`${path}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

function inputFiles(root: string, { folder }: BuiltWorkspace): string[] {
  const below = withDependencies(manifestsByFolder(root), folder).flatMap((one) =>
    globSync(`${one}/**/*`, { cwd: root, exclude: NO_INPUTS, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1)),
  );
  return [...SHARED_INPUTS.filter((path) => existsSync(join(root, path))), ...below.sort()];
}

function withDependencies(manifests: ReadonlyMap<string, Manifest>, folder: string): string[] {
  const folderOf = new Map([...manifests].map(([at, { name }]) => [name, at]));
  const found = new Set([folder]);
  for (const one of found) {
    for (const name of Object.keys(manifests.get(one)?.dependencies ?? {})) {
      const dependency = folderOf.get(name);
      if (dependency !== undefined) found.add(dependency); // A set that grows while it is walked is walked to its end.
    }
  }
  return [...found];
}

function manifestsByFolder(root: string): Map<string, Manifest> {
  const paths = globSync('{apps,libs,dev,research}/*/package.json', { cwd: root }).sort();
  return new Map(paths.map((path) => [dirname(path), JSON.parse(readFileSync(join(root, path), 'utf8')) as Manifest]));
}
