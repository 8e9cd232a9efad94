import { startControlPlane, SYSTEM_NAMESPACE, type ControlPlane } from '@coxswain/local-cluster';
import { parseAllDocuments } from 'yaml';
import { renderChart } from './render.ts';

interface DaemonSet {
  readonly kind: string;
  readonly spec: { readonly template: { readonly spec: { readonly initContainers: readonly { image: string }[] } } };
}

const IMAGES = ['registry.example.com/train@sha256:0a', 'registry.example.com/eval:2'];

async function daemonSet(images: readonly string[]): Promise<DaemonSet | undefined> {
  const rendered = await renderChart({ values: images.map((image, index) => `prePull.images[${index}]=${image}`) });
  return parseAllDocuments(rendered)
    .map((document) => document.toJS() as DaemonSet)
    .find(({ kind }) => kind === 'DaemonSet');
}

describe('images that nodes pull beforehand', () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await startControlPlane();
  });
  afterAll(() => plane.stop());

  it('are each started once, by pods that the API server takes, in a namespace with restricted pod security too', async () => {
    const set = await daemonSet(IMAGES);
    expect(set?.spec.template.spec.initContainers.map(({ image }) => image).slice(1)).toEqual(IMAGES);
    await plane.kubectl(['create', 'namespace', SYSTEM_NAMESPACE]);
    await plane.kubectl(['label', 'namespace', SYSTEM_NAMESPACE, 'pod-security.kubernetes.io/enforce=restricted']);
    await plane.kubectl(['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'], {
      input: JSON.stringify(set),
    });
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'pre-pull', namespace: SYSTEM_NAMESPACE },
      spec: { ...set?.spec.template.spec, serviceAccountName: 'pre-pull' },
    };
    await plane.kubectl(['-n', SYSTEM_NAMESPACE, 'create', 'serviceaccount', 'pre-pull']);
    await plane.kubectl(['create', '--dry-run=server', '-f', '-'], { input: JSON.stringify(pod) });
  });

  it('are none where none are named, and nothing is made', async () => {
    expect(await daemonSet([])).toBeUndefined();
  });
});
