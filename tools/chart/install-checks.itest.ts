import { startControlPlane, SYSTEM_NAMESPACE, type ControlPlane } from '@coxswain/local-cluster';
import { CHART, helm } from './render.ts';

let plane: ControlPlane;
let kubeconfig: string;
beforeAll(async () => {
  plane = await startControlPlane({ scheduler: false, controllerManager: false });
  kubeconfig = await plane.kubeconfigForUser({ user: 'helm', groups: ['system:masters'] });
  await plane.kubectl(['create', 'namespace', SYSTEM_NAMESPACE]);
});
afterAll(() => plane?.stop());

const apply = (object: object): Promise<string> =>
  plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
const run = (verb: 'install' | 'upgrade', values: readonly string[], ...more: readonly string[]): Promise<string> => {
  const place = more.includes('--namespace') ? [] : ['--namespace', SYSTEM_NAMESPACE];
  const set = values.flatMap((value) => ['--set', value]);
  return helm(verb, 'coxswain', CHART, '--kubeconfig', kubeconfig, ...place, ...set, ...more);
};
/** Everything up to the first write. */
const tryTo = (verb: 'install' | 'upgrade', values: readonly string[], ...more: readonly string[]): Promise<string> =>
  run(verb, values, '--dry-run=server', ...more);

function storageClass(name: string, isDefault: boolean): object {
  const annotations = { 'storageclass.kubernetes.io/is-default-class': String(isDefault) };
  return { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name, annotations }, provisioner: 'any' };
}

function volume(storageClassName: string): object {
  const spec = {
    storageClassName,
    capacity: { storage: '10Gi' },
    accessModes: ['ReadWriteOnce'],
    hostPath: { path: '/any' },
  };
  return { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: `of-${storageClassName}` }, spec };
}

// In this order: the cluster gets what it lacks.
describe('helm install', () => {
  it.each<[string, readonly string[], readonly string[], RegExp]>([
    [
      'a cluster without a StorageClass',
      [],
      [],
      /The embedded PostgreSQL needs a volume, and this cluster has no default StorageClass \(there: none\)\. Name one: --set database\.embedded\.storage\.className=NAME/,
    ],
    [
      'a StorageClass that there is not',
      ['database.embedded.storage.className=fast'],
      [],
      /className is "fast", and this cluster has neither a StorageClass nor a PersistentVolume of that name \(StorageClasses there: none\)/,
    ],
    [
      'a namespace that belongs to others',
      [],
      ['--namespace', 'default'],
      /Coxswain needs a namespace of its own, which no project may use, and "default" is not one: helm install … --namespace coxswain-system/,
    ],
    [
      'CloudNativePG without its operator',
      ['database.source=cloudNativePG'],
      [],
      /this cluster does not serve postgresql\.cnpg\.io\/v1: install the CloudNativePG operator first/,
    ],
  ])('refuses %s, and says what to do', async (_what, values, more, want) => {
    await expect(tryTo('install', values, ...more)).rejects.toThrow(want);
  });

  it.each<[string, readonly string[]]>([
    ['a claim that is there already', ['database.embedded.storage.existingClaim=mine']],
    ['a database of yours', ['database.source=external']],
  ])('needs none with %s', async (_what, values) => {
    expect(await tryTo('install', values)).toContain('is installed in coxswain-system');
  });

  it('needs none where the claim of an installation before was kept', async () => {
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Gi' } } };
    const metadata = { name: 'data-coxswain-postgresql-0', namespace: SYSTEM_NAMESPACE };
    await apply({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec });
    expect(await tryTo('install', [])).toContain('is installed in coxswain-system');
    await plane.kubectl([
      '-n',
      SYSTEM_NAMESPACE,
      'patch',
      'pvc',
      metadata.name,
      '-p',
      '{"metadata":{"finalizers":null}}',
    ]);
    await plane.kubectl(['-n', SYSTEM_NAMESPACE, 'delete', 'pvc', metadata.name]);
    await expect(tryTo('install', [])).rejects.toThrow(/no default StorageClass/);
  });

  it('takes a class that volumes alone have, as where somebody makes them by hand', async () => {
    await apply(volume('by-hand'));
    expect(await tryTo('install', ['database.embedded.storage.className=by-hand'])).toContain('"by-hand"');
  });

  it('names the classes that there are where none is the default, and needs nothing more where one is', async () => {
    await apply(storageClass('slow', false));
    await expect(tryTo('install', [])).rejects.toThrow(/no default StorageClass \(there: slow\)/);
    await apply(storageClass('fast', true));
    const printed = await tryTo('install', []);
    expect(printed).toMatch(
      /one replica, its data in one claim, [\s\S]*Nothing backs it up: see database\.embedded\.backup\./,
    );
    expect(printed).not.toMatch(/password: |stringData/);
  });
});

describe('helm upgrade', () => {
  it('from a database of yours does not begin with an empty one unasked', async () => {
    await run('install', ['database.source=external'], '--no-hooks');
    const secret = { name: 'coxswain-database', namespace: SYSTEM_NAMESPACE };
    await apply({ apiVersion: 'v1', kind: 'Secret', metadata: secret });
    // With no value at all Helm takes those of the release.
    await expect(tryTo('upgrade', ['api.replicas=1'])).rejects.toThrow(
      /This release uses the database of the Secret "coxswain-database", and database\.source is "embedded", which would begin with an empty one/,
    );
    expect(await tryTo('upgrade', ['database.source=external'])).toContain('is installed in');
    expect(await tryTo('upgrade', ['database=null'], '--reuse-values')).toContain('must hold the URLs');
  });
});
