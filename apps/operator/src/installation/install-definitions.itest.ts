import { API_GROUP, API_VERSION, SERVED_API_VERSIONS } from '@coxswain/api-types';
import { startControlPlane, startProcess, SYSTEM_NAMESPACE, type ControlPlane } from '@coxswain/local-cluster';
import type { PolicyRule } from '@coxswain/kube';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { DEFINITIONS_NAMESPACE_RULES, DEFINITIONS_RULES } from '../permissions.ts';
import type { Definition } from './definition.ts';
import { RELEASE_ANNOTATION } from './install-definitions.ts';

const CRDS = resolve(import.meta.dirname, '../../../../charts/coxswain/definitions');
const DEFINITIONS = readdirSync(CRDS).map((file) => parse(readFileSync(join(CRDS, file), 'utf8')) as Definition);
const LEASE = `${SYSTEM_NAMESPACE}/coxswain-definitions`;

let plane: ControlPlane;
let home: string;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'definitions-'));
  plane = await startControlPlane({ scheduler: false, controllerManager: false });
  await plane.kubectl(['create', 'namespace', SYSTEM_NAMESPACE]);
  await plane.kubectl(['-n', SYSTEM_NAMESPACE, 'create', 'serviceaccount', 'coxswain-definitions']);
  await grant('ClusterRole', DEFINITIONS_RULES);
  await grant('Role', DEFINITIONS_NAMESPACE_RULES);
});
afterAll(async () => {
  await plane?.stop();
  rmSync(home, { recursive: true });
});

async function grant(kind: 'ClusterRole' | 'Role', rules: readonly PolicyRule[]): Promise<void> {
  const apiGroup = 'rbac.authorization.k8s.io';
  const name = 'coxswain-definitions';
  const metadata = { name, ...(kind === 'Role' ? { namespace: SYSTEM_NAMESPACE } : {}) };
  const subjects = [{ kind: 'ServiceAccount', name, namespace: SYSTEM_NAMESPACE }];
  for (const object of [
    { apiVersion: `${apiGroup}/v1`, kind, metadata, rules },
    { apiVersion: `${apiGroup}/v1`, kind: `${kind}Binding`, metadata, roleRef: { apiGroup, kind, name }, subjects },
  ])
    await plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
}

let runs = 0;
/** Runs the very program of the hook, with the rights of its account alone. */
async function install(release: string, definitions: readonly Definition[] = DEFINITIONS) {
  runs += 1;
  const folder = join(home, String(runs));
  mkdirSync(folder);
  for (const one of definitions) writeFileSync(join(folder, `${one.metadata.name}.json`), JSON.stringify(one));
  const account = { namespace: SYSTEM_NAMESPACE, serviceAccount: 'coxswain-definitions' };
  const program = await startProcess({
    name: 'install-definitions',
    command: process.execPath,
    args: [resolve(import.meta.dirname, '../main.ts'), 'install-definitions', folder, LEASE, release],
    env: { PATH: process.env['PATH'], COXSWAIN_KUBECONFIG: await plane.kubeconfigFor(account) },
    logPath: join(home, `${runs}.log`),
  });
  const { code } = await program.exited;
  return { code, printed: readFileSync(program.logPath ?? '', 'utf8') };
}

const read = async (plural: string): Promise<Definition> =>
  JSON.parse(
    await plane.kubectl(['get', 'crd', `${plural}.training.coxswain.dev`, '-o', 'json', '--show-managed-fields']),
  ) as Definition;
const releaseOf = async (plural: string): Promise<string | undefined> =>
  (await read(plural)).metadata.annotations?.[RELEASE_ANNOTATION];
/** A definition as an earlier release had it. */
function earlier(change: (schema: { properties: Record<string, unknown> }) => void): Definition {
  const copy = structuredClone(DEFINITIONS.find(({ metadata }) => metadata.name.startsWith('placements')));
  const [version] = copy?.spec.versions as unknown as readonly {
    schema: { openAPIV3Schema: { properties: Record<string, unknown> } };
  }[];
  if (copy === undefined || version === undefined) throw new Error('no definition of placements');
  change(version.schema.openAPIV3Schema);
  return copy;
}

// In this order: each goes on from what the one before left.
describe('the hook that installs definitions', () => {
  it('replaces one that helm or kubectl installed long ago, what it had too much included', async () => {
    const old = earlier(({ properties }) => (properties['gone'] = { type: 'string' }));
    await plane.kubectl(['apply', '--server-side', '--field-manager', 'helm', '-f', '-'], {
      input: JSON.stringify(old),
    });
    expect(await install('0.1.0')).toMatchObject({
      code: 0,
      printed: expect.stringContaining('is that of release 0.1.0'),
    });
    const now = JSON.stringify(await read('placements'));
    expect(now).not.toContain('"gone":{"type"');
    expect(await releaseOf('placements')).toBe('0.1.0');
    expect(await plane.kubectl(['get', 'trainingjobs', '-A'])).toBe('');
  });

  it('serves an object in every version, whichever wrote it, checks it alike, and stores one', async () => {
    const runtime = (version: string, description: unknown) =>
      JSON.stringify({
        apiVersion: `${API_GROUP}/${version}`,
        kind: 'ClusterTrainingRuntime',
        metadata: { name: `by-${version}` },
        spec: { description },
      });
    for (const version of SERVED_API_VERSIONS) {
      await expect(plane.kubectl(['create', '-f', '-'], { input: runtime(version, 7) })).rejects.toThrow(
        /spec.description in body must be of type string/,
      );
      await plane.kubectl(['create', '-f', '-'], { input: runtime(version, 'of a test') });
    }
    for (const version of SERVED_API_VERSIONS) {
      const answer = await plane.kubectl(['get', '--raw', `/apis/${API_GROUP}/${version}/clustertrainingruntimes`]);
      const { items } = JSON.parse(answer) as { items: readonly { apiVersion: string; metadata: { name: string } }[] };
      expect(items.map(({ apiVersion, metadata }) => `${metadata.name} ${apiVersion}`)).toEqual(
        [...SERVED_API_VERSIONS].map((writer) => `by-${writer} ${API_GROUP}/${version}`),
      );
    }
    expect((await read('clustertrainingruntimes')).status?.storedVersions).toEqual([API_VERSION]);
  });

  it('changes nothing when it is run again', async () => {
    const versions = async () =>
      (await Promise.all(['trainingjobs', 'placements'].map(read))).map(({ metadata }) => metadata.resourceVersion);
    const before = await versions();
    expect((await install('0.1.0')).code).toBe(0);
    expect(await versions()).toEqual(before);
  });

  it('two at once are done one after the other, and both succeed', async () => {
    const both = await Promise.all([install('0.2.0'), install('0.2.0')]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(await releaseOf('trainingjobs')).toBe('0.2.0');
    const lease = await plane.kubectl(['-n', SYSTEM_NAMESPACE, 'get', 'lease', 'coxswain-definitions', '-o', 'json']);
    expect((JSON.parse(lease) as { spec: { leaseTransitions: number } }).spec.leaseTransitions).toBe(runs);
  });

  it('leaves alone what a newer release installed, and says so', async () => {
    const older = await install('0.1.9', [earlier(({ properties }) => delete properties['spec'])]);
    expect(older.code).toBe(0);
    expect(older.printed).toContain(
      'placements.training.coxswain.dev is not changed: release 0.2.0 installed it, which is newer than this one (0.1.9)',
    );
    expect(JSON.stringify(await read('placements'))).toContain('worldSize');
  });

  it('takes no version away in which objects may be stored, and writes nothing at all then', async () => {
    const [first, ...others] = DEFINITIONS;
    const renamed = structuredClone(first) as Definition;
    (renamed.spec.versions[0] as { name: string }).name = 'v1';
    const { code, printed } = await install('0.3.0', [...others, renamed]);
    expect(code).toBe(1);
    expect(printed).toMatch(
      /nothing was installed: \S+ has objects that may be stored as v1alpha1, which release 0\.3\.0 no longer knows\. Upgrade to a release that knows both first/,
    );
    expect(await releaseOf('trainingjobs')).toBe('0.2.0');
  });

  it.each<[string, readonly string[], RegExp]>([
    ['no Lease', ['install-definitions', '/any'], /needs the folder of the definitions, a Lease as NAMESPACE\/NAME/],
    ['a command that there is not', ['install'], /"install" is not a command; use one of install-definitions, /],
  ])('refuses %s with a sentence', async (_what, args, want) => {
    const program = await startProcess({
      name: 'operator',
      command: process.execPath,
      args: [resolve(import.meta.dirname, '../main.ts'), ...args],
      logPath: join(home, 'refused.log'),
    });
    expect((await program.exited).code).toBe(1);
    expect(readFileSync(join(home, 'refused.log'), 'utf8')).toMatch(want);
  });
});
