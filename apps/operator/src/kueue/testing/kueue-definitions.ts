/** The custom resource definitions of Kueue, from its Go module. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { KUEUE_API } from '@coxswain/scheduling';
import { parse } from 'yaml';

const MODULE = 'sigs.k8s.io/kueue@v0.19.2';
/** As go.sum spells the hash of a module's files. */
const SUM = 'h1:mPNzr37u0nwI7ikST5QQl5gg6EgtYOAvC9ZbTgywdN8=';

/** The definitions of these kinds. Needs Go, which keeps the module (6 MB) in its cache; nothing of it is built. */
export async function kueueDefinitions(
  plurals: readonly string[],
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', MODULE], { cwd: tmpdir() });
  const { Dir, Sum } = JSON.parse(stdout) as { readonly Dir: string; readonly Sum: string };
  if (Sum !== SUM) throw new Error(`${MODULE} has the hash ${Sum}, not ${SUM}: do not use it`);
  return Promise.all(
    plurals.map(async (plural) => {
      const file = join(Dir, 'config/components/crd/bases', `${KUEUE_API.group}_${plural}.yaml`);
      return parse(await readFile(file, 'utf8')) as Readonly<Record<string, unknown>>;
    }),
  );
}
