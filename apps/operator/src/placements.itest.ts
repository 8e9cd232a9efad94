import { API_GROUP_VERSION, type Placement, type TrainingJob } from '@coxswain/api-types';
import { waitFor } from '@coxswain/local-cluster';
import { startWorld, type World } from './testing/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterEach(() => world.clear());
afterAll(() => world.stop());

const onOneNode = (gpus: number): Record<string, unknown> => ({
  layout: { tensorParallelDegree: gpus },
  resources: { gpusPerNode: gpus },
});
const isRunning = ({ status }: TrainingJob): boolean => status?.state === 'Running';
const placementsOf = (namespace: string): string => `/apis/${API_GROUP_VERSION}/namespaces/${namespace}/placements`;
const post = (path: string, body: unknown): Promise<{ status: number }> =>
  world.plane.admin.send({ method: 'POST', path, body });

describe('placements that somebody forged for a job of one GPU', () => {
  it('do not change what others get, nor the job itself, and are named in one warning', async () => {
    await Promise.all([world.node('mine', 1), world.node('theirs', 8)]);
    await world.operator();
    const [tenant, others] = [await world.namespace(), await world.namespace()];
    const job = await world.job(tenant, 'tiny', onOneNode(1));
    await world.until(job, 'running', isRunning);
    const nodes = Array.from({ length: 1_024 }, () => 'theirs');
    const forge = (epoch: number): Promise<{ status: number }> =>
      post(placementsOf(tenant), aForgery(job, { epoch, nodes }));
    const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => forge(index + 1)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));

    const other = await world.job(others, 'other', onOneNode(8));
    await world.until(other, 'running', isRunning);
    const events = await waitFor(
      async () => {
        const told = await eventsOf(tenant);
        return told.length > 0 ? told : undefined;
      },
      { what: 'a warning of the forged placements' },
    );
    expect(events).toHaveLength(1);
    expect(events[0]).toMatch(/Placements? forged-\d+.* to be of this job, and its status records no such placement/);
    const untouched = await world.readJob(tenant, 'tiny');
    expect(untouched.status).toMatchObject({ state: 'Running', epoch: 1, restarts: { total: 0 } });
    expect(untouched.status?.attempts).toHaveLength(1);
  });
});

function aForgery(
  job: TrainingJob,
  spec: { readonly epoch: number; readonly nodes: string[] },
): Omit<Placement, 'metadata'> {
  const { name, namespace, uid } = job.metadata;
  const layout = { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 8_192 };
  const about = { jobName: name, jobUid: uid, layout, worldSize: 8_192, ranksPerPod: 8 };
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'Placement',
    metadata: { name: `forged-${spec.epoch}`, namespace },
    spec: { ...about, ...spec },
  } as Omit<Placement, 'metadata'>;
}

async function eventsOf(namespace: string): Promise<readonly string[]> {
  const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
  const { items } = await world.plane.admin.json<{ items: { reason: string; note: string }[] }>({
    method: 'GET',
    path,
  });
  return items.filter(({ reason }) => reason === 'ForeignPlacement').map(({ note }) => note);
}
