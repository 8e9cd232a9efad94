import { mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../test/run-supervised.ts';

const OWN = '@coxswain';
const KINDS = ['libs', 'apps', 'dev', 'research'];

/** Links the modules of this tree into a copy of a tree. The packages of the repository itself are those of the copy. */
export async function linkModules(folder: string): Promise<void> {
  const target = join(folder, 'node_modules');
  await mkdir(join(target, OWN), { recursive: true });
  for (const name of await readdir(join(ROOT, 'node_modules'))) {
    if (name !== OWN) await symlink(join(ROOT, 'node_modules', name), join(target, name));
  }
  for (const kind of KINDS) {
    for (const name of await readdir(join(folder, kind)).catch((): string[] => [])) {
      await symlink(join('../..', kind, name), join(target, OWN, name));
      const modules = join(ROOT, kind, name, 'node_modules');
      await symlink(modules, join(folder, kind, name, 'node_modules')).catch(() => undefined);
    }
  }
}
