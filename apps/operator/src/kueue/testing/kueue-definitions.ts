/** What Kueue installs beside its program, from its Go module. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BINARY_VERSIONS } from '@coxswain/local-cluster';
import { KUEUE_API } from '@coxswain/scheduling';
import { parse, parseAllDocuments } from 'yaml';

const MODULE = `sigs.k8s.io/kueue@v${BINARY_VERSIONS.kueue}`;
/** As go.sum spells the hash of a module's files. */
const SUM = 'h1:mPNzr37u0nwI7ikST5QQl5gg6EgtYOAvC9ZbTgywdN8=';

type Manifest = Readonly<Record<string, unknown>>;

/** The custom resource definitions of these kinds. Needs Go, which keeps the module (6 MB) in its cache; nothing of it is built. */
export async function kueueDefinitions(plurals: readonly string[]): Promise<readonly Manifest[]> {
  const folder = join(await kueueModule(), 'config/components/crd/bases');
  return Promise.all(
    plurals.map(async (plural) => {
      const file = join(folder, `${KUEUE_API.group}_${plural}.yaml`);
      return parse(await readFile(file, 'utf8')) as Manifest;
    }),
  );
}

/** The two webhook configurations, with a Service as address and every kind that Kueue knows. */
export async function kueueWebhooks(): Promise<readonly Manifest[]> {
  const file = join(await kueueModule(), 'config/components/webhook/manifests.yaml');
  return parseAllDocuments(await readFile(file, 'utf8')).map((one) => one.toJS() as Manifest);
}

/** The rights that Kueue's installation gives its manager in every namespace, and in its own. */
export async function kueueManagerRules(): Promise<{ readonly everywhere: unknown; readonly inItsOwn: unknown }> {
  const folder = join(await kueueModule(), 'config/components/rbac');
  const rulesIn = async (name: string): Promise<unknown> =>
    (parse(await readFile(join(folder, name), 'utf8')) as { readonly rules: unknown }).rules;
  return { everywhere: await rulesIn('role.yaml'), inItsOwn: await rulesIn('manager_secrets_role.yaml') };
}

/** The folder of the module. */
async function kueueModule(): Promise<string> {
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', MODULE], { cwd: tmpdir() });
  const { Dir, Sum } = JSON.parse(stdout) as { readonly Dir: string; readonly Sum: string };
  if (Sum !== SUM) throw new Error(`${MODULE} has the hash ${Sum}, not ${SUM}: do not use it`);
  return Dir;
}
