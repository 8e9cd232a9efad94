import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { packageComponent, type BillComponent, type PackageFacts } from './bill-of-materials.ts';
import { ROOT } from './image-names.ts';

/** What a workspace runs with: folders relative to the root. */
export interface ProductionPackages {
  /** Workspaces of this repository, such as `libs/kube`, the asked one among them. */
  readonly workspaces: readonly string[];
  /** Installed packages, such as `node_modules/zod`, those within others' folders and workspaces too. */
  readonly installed: readonly string[];
}

const MAX_BYTES = 64 * 2 ** 20;

/** The packages that `workspace` needs when it runs, by npm's own reading of the lock. */
export async function productionPackages(workspace: string): Promise<ProductionPackages> {
  const paths = await npm(['ls', '--all', '--omit=dev', '--parseable', `--workspace=${workspace}`]);
  return sortPackages(
    paths.split('\n').map((path) => relative(ROOT, path)),
    await workspacePaths(),
  );
}

/** Divides npm's list: links to workspaces become their folders, the root itself and doubles go. */
export function sortPackages(paths: readonly string[], workspaces: ReadonlyMap<string, string>): ProductionPackages {
  const known = [...new Set(paths)].filter((path) => path.includes('node_modules/'));
  const workspaceOf = (path: string): string | undefined => workspaces.get(path.replace(/^node_modules\//, ''));
  return {
    workspaces: known.flatMap((path) => workspaceOf(path) ?? []).sort(),
    installed: known.filter((path) => workspaceOf(path) === undefined).sort(),
  };
}

/**
 * The packages of {@link productionPackages} that are here, as components of a bill of materials. `npm sbom` is not
 * used: with npm 11.19 it leaves out a third of the packages of a workspace, and lists the development packages of others.
 */
export async function packageComponents(workspace: string): Promise<readonly BillComponent[]> {
  const { workspaces, installed } = await productionPackages(workspace);
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, Pick<PackageFacts, 'integrity'>>>;
  };
  return [...workspaces, ...installed].flatMap((folder) => {
    const path = join(ROOT, folder, 'package.json');
    if (!existsSync(path)) return [];
    const manifest = JSON.parse(readFileSync(path, 'utf8')) as PackageFacts;
    return [packageComponent({ ...manifest, ...packages[folder] })];
  });
}

/** Folder of each workspace by the name of its package. */
async function workspacePaths(): Promise<ReadonlyMap<string, string>> {
  const found = JSON.parse(await npm(['query', '.workspace'])) as { name: string; location: string }[];
  return new Map(found.map(({ name, location }) => [name, location]));
}

async function npm(args: readonly string[]): Promise<string> {
  const program = process.env['npm_execpath'];
  const [command, ...first] = program?.endsWith('.js') === true ? [process.execPath, program] : ['npm'];
  const { stdout } = await promisify(execFile)(command ?? 'npm', [...first, ...args, '--loglevel=error'], {
    cwd: ROOT,
    maxBuffer: MAX_BYTES,
    env: { ...process.env, NODE_OPTIONS: undefined, NO_UPDATE_NOTIFIER: '1' },
  });
  return stdout.trim();
}

/** Where a workspace's package is found by programs of others: the link's place, and what it leads to. */
export function workspaceLink(name: string, folder: string): { readonly at: string; readonly to: string } {
  const at = `node_modules/${name}`;
  return { at, to: relative(join(at, '..'), folder) };
}
