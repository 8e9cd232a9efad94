import { startControlPlane, type ControlPlane } from '../kubernetes/control-plane.ts';
import { waitFor } from '../process/wait.ts';
import { startKwok, type Kwok } from './kwok.ts';

let plane: ControlPlane;
let kwok: Kwok;

beforeAll(async () => {
  plane = await startControlPlane();
  kwok = await startKwok({
    controlPlane: plane,
    nodes: 50,
    labels: (index) => ({ 'fabric.coxswain.dev/nvlink-domain': `nvl-${Math.floor(index / 9)}` }),
  });
});

afterAll(async () => {
  await kwok?.stop();
  await plane?.stop();
});

interface PodView {
  readonly status: {
    readonly phase?: string;
    readonly containerStatuses?: readonly { readonly state: { readonly terminated?: { readonly exitCode: number } } }[];
  };
}

async function makePod(name: string, annotations: Readonly<Record<string, string>> = {}): Promise<void> {
  await plane.admin.json({
    method: 'POST',
    path: '/api/v1/namespaces/default/pods',
    body: {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, annotations },
      spec: {
        restartPolicy: 'Never',
        containers: [{ name: 'main', image: 'any', resources: { limits: { 'nvidia.com/gpu': '8' } } }],
      },
    },
  });
}

function podInPhase(name: string, phase: string): Promise<PodView> {
  return waitFor(
    async () => {
      const pod = await plane.admin.json<PodView>({ method: 'GET', path: `/api/v1/namespaces/default/pods/${name}` });
      return pod.status.phase === phase ? pod : undefined;
    },
    { what: `pod ${name} to be ${phase}` },
  );
}

it('has fifty nodes with their labels, ready and free of taints', async () => {
  const path = '/api/v1/nodes?labelSelector=fabric.coxswain.dev%2Fnvlink-domain%3Dnvl-1';
  const { items } = await plane.admin.json<{ items: unknown[] }>({ method: 'GET', path });
  expect(kwok.nodeNames).toHaveLength(50);
  expect(items).toHaveLength(9);
});

it('runs a pod for as long as nobody deletes it, and then lets it go', async () => {
  await makePod('steady');
  await podInPhase('steady', 'Running');
  const path = '/api/v1/namespaces/default/pods/steady';
  await plane.admin.json({ method: 'DELETE', path });
  await waitFor(async () => (await plane.admin.send({ method: 'GET', path })).status === 404, {
    what: 'the pod to go',
  });
});

it.each([
  { name: 'completes', code: '0', phase: 'Succeeded' },
  { name: 'fails', code: '137', phase: 'Failed' },
])('a pod $name with the exit code that it is annotated with', async ({ name, code, phase }) => {
  await makePod(name, { 'kwok.coxswain.dev/runs-for': '500ms', 'kwok.coxswain.dev/exit-code': code });
  const pod = await podInPhase(name, phase);
  expect(pod.status.containerStatuses?.[0]?.state.terminated?.exitCode).toBe(Number(code));
});
