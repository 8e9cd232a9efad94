import { API_GROUP_VERSION, LABELS, type Placement, type TrainingJob } from '@coxswain/api-types';
import { waitFor } from '@coxswain/local-cluster';
import { setTimeout as delay } from 'node:timers/promises';
import { sharedWorld } from './testing/shared-world.ts';
import type { World } from './testing/world.ts';

let world: World;
beforeAll(async () => {
  world = await sharedWorld();
});
afterEach(() => world.clear());
afterAll(() => world.stop());

const onOneNode = (gpus: number): Record<string, unknown> => ({
  layout: { tensorParallelDegree: gpus },
  resources: { gpusPerNode: gpus },
});
const isRunning = ({ status }: TrainingJob): boolean => status?.state === 'Running';
const lastAttempt = ({ status }: TrainingJob) => status?.attempts?.at(-1);
const placementsOf = (namespace: string): string => `/apis/${API_GROUP_VERSION}/namespaces/${namespace}/placements`;
const post = (path: string, body: unknown): Promise<{ status: number }> =>
  world.plane.admin.send({ method: 'POST', path, body });

describe('a leader whose create of a placement is held for 10 s while another one leads', () => {
  it('does not help two gangs to one slot: one runs, and the other in its turn, whoever comes first', async () => {
    await world.node('slot', 2);
    const namespace = await world.namespace();
    const path = await world.faultProxy();
    const held = Promise.withResolvers<string>();
    const landed = Promise.withResolvers<undefined>();
    path.onWrite(async ({ stage, verb, path: place, body }) => {
      if (stage !== 'beforeSend' || verb !== 'create' || place !== placementsOf(namespace)) return;
      held.resolve(body);
      await landed.promise;
    });
    const over = new Set<string>();
    world.kubelet.onLook = (pods) => {
      const live = pods.filter(({ spec, status }) => spec.nodeName === 'slot' && status.phase === 'Running');
      const jobs = new Set(live.map(({ metadata }) => metadata.labels?.[LABELS.jobName]));
      if (jobs.size > 1) over.add([...jobs].join(' and '));
    };
    const old = await world.operatorProcess({ apiserverUrl: path.url });
    const one = await world.job(namespace, 'one', onOneNode(2));
    const body = await held.promise;
    const heldAtMs = Date.now();
    await old.kill();
    expect(lastAttempt(await world.readJob(namespace, 'one'))).toMatchObject({ epoch: 1, stage: 'Creating' });

    const two = await world.job(namespace, 'two', onOneNode(2));
    await world.operator();
    const first = await waitFor(
      async () => {
        const jobs = await Promise.all(['one', 'two'].map((name) => world.readJob(namespace, name)));
        return jobs.find(isRunning);
      },
      { what: 'one of the two to run' },
    );
    await delay(Math.max(0, heldAtMs + 10_000 - Date.now()));
    // What the new leader made of it has the name; else it arrives now, and counts for nothing.
    expect([201, 409]).toContain((await post(placementsOf(namespace), JSON.parse(body))).status);
    landed.resolve(undefined);
    await world.plane.kubectl(['-n', namespace, 'delete', 'tjob', first.metadata.name]);
    const second = await world.until(first.metadata.name === 'one' ? two : one, 'running in its turn', isRunning);
    expect([first.status?.restarts, second.status?.restarts]).toMatchObject([{ charged: 0 }, { charged: 0 }]);
    expect([...over]).toEqual([]);
  });
});

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
        const recorded = await eventsOf(tenant);
        return recorded.length > 0 ? recorded : undefined;
      },
      { what: 'a warning of the forged placements' },
    );
    expect(events).toHaveLength(1);
    expect(events[0]).toMatch(/Placements? forged-\d+.* names? this job, and the job.s status does not record/);
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
