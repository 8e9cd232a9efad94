import { startControlPlane, SYSTEM_NAMESPACE, type ControlPlane } from '@coxswain/local-cluster';
import { parseAllDocuments } from 'yaml';
import { renderChart } from './render.ts';

interface Manifest {
  readonly metadata: { readonly name: string };
  readonly spec?: { readonly template?: { readonly spec: PodSpec } };
}

let plane: ControlPlane;
let manifests: readonly Manifest[];

beforeAll(async () => {
  manifests = parseAllDocuments(await renderChart()).map((document) => document.toJS() as Manifest);
  plane = await startControlPlane({ scheduler: false, controllerManager: false });
  const namespace = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: SYSTEM_NAMESPACE,
      labels: { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/warn': 'restricted' },
    },
  };
  await plane.kubectl(['apply', '--server-side', '-f', '-'], { input: JSON.stringify(namespace) });
});
afterAll(() => plane?.stop());

describe('a namespace with restricted pod security', () => {
  it('accepts every pod of the chart, those of its hooks and its database too', async () => {
    const pods = manifests.flatMap((manifest) => podOf(manifest));
    expect(pods.map(({ metadata }) => metadata.name.replace(/-[0-9a-f]{8}$/, '')).sort()).toEqual([
      'coxswain-api',
      'coxswain-definitions',
      'coxswain-let-go',
      'coxswain-operator',
      'coxswain-postgresql',
      'coxswain-prepare-database',
      'coxswain-running-jobs',
      'coxswain-test',
    ]);
    await plane.kubectl(['-n', SYSTEM_NAMESPACE, 'create', 'serviceaccount', 'default']);
    for (const pod of pods) {
      const { serviceAccountName = 'default' } = pod.spec;
      await plane.kubectl(['-n', SYSTEM_NAMESPACE, 'apply', '-f', '-'], {
        input: JSON.stringify({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: serviceAccountName } }),
      });
      expect(await plane.kubectl(['create', '--dry-run=server', '-f', '-'], { input: JSON.stringify(pod) })).toContain(
        'created',
      );
    }
  });
});

/** The pod that a Deployment, StatefulSet or Job would make; none of anything else. */
function podOf(manifest: Manifest) {
  const { spec } = manifest;
  if (spec?.template === undefined) return [];
  const metadata = { name: manifest.metadata.name, namespace: SYSTEM_NAMESPACE };
  return [{ apiVersion: 'v1', kind: 'Pod', metadata, spec: withClaim(spec.template.spec) }];
}

interface PodSpec {
  readonly serviceAccountName?: string;
  readonly volumes?: readonly { readonly name: string }[];
}

/** A StatefulSet adds the volume of its claim. */
function withClaim(spec: PodSpec): PodSpec {
  const volumes = spec.volumes ?? [];
  if (volumes.some(({ name }) => name === 'data')) return spec;
  return { ...spec, volumes: [...volumes, { name: 'data', ...{ persistentVolumeClaim: { claimName: 'any' } } }] };
}
