import { API_GROUP_VERSION, type Placement, type TrainingJob } from '@coxswain/api-types';
import { waitFor } from '@coxswain/local-cluster';
import { setTimeout as delay } from 'node:timers/promises';
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
const lastAttempt = ({ status }: TrainingJob) => status?.attempts?.at(-1);
const placementsOf = (namespace: string): string => `/apis/${API_GROUP_VERSION}/namespaces/${namespace}/placements`;
const post = (path: string, body: unknown): Promise<{ status: number }> =>
  world.plane.admin.send({ method: 'POST', path, body });
const podsOf = async (namespace: string, job: TrainingJob): Promise<number> =>
  (await world.pods(namespace)).filter(({ metadata }) => metadata.name.startsWith(`${job.metadata.name}-`)).length;

describe('a leader whose create of a placement is held for 10 s while another one leads', () => {
  it('gives its gang nothing that went to another job meanwhile: never two gangs on one slot', async () => {
    await world.node('slot', 2);
    const namespace = await world.namespace();
    const [oldPath, newPath] = [await world.faultProxy(), await world.faultProxy()];
    const held = Promise.withResolvers<string>();
    const landed = Promise.withResolvers<undefined>();
    oldPath.onWrite(async ({ stage, verb, path, body }) => {
      if (stage !== 'beforeSend' || verb !== 'create' || path !== placementsOf(namespace)) return;
      held.resolve(body);
      await landed.promise;
    });
    const old = await world.operatorProcess({ apiserverUrl: oldPath.url });
    // The next leader looks at jobs in the order of their names, and this one has its finalizer by then.
    const early = await world.job(namespace, 'a-early', { ...onOneNode(2), suspend: true });
    await world.until(early, 'suspended', ({ status }) => status?.state === 'Suspended');
    const late = await world.job(namespace, 'z-late', onOneNode(2));
    const body = await held.promise;
    const heldAtMs = Date.now();
    await old.kill();
    expect(lastAttempt(await world.readJob(namespace, 'z-late'))).toMatchObject({ epoch: 1, stage: 'Creating' });

    await world.plane.kubectl([
      '-n',
      namespace,
      'patch',
      'tjob',
      'a-early',
      '--type=merge',
      '-p',
      '{"spec":{"suspend":false}}',
    ]);
    // It asks whether the placement is there, and hears it only once the old leader's write has arrived.
    const action = { kind: 'delay', side: 'request', until: () => landed.promise } as const;
    newPath.add({ match: { verbs: ['get'], path: /\/placements\/z-late-/ }, action });
    await world.operator({ apiserverUrl: newPath.url });
    await world.until(early, 'running', isRunning);
    await delay(Math.max(0, heldAtMs + 10_000 - Date.now()));
    expect((await post(placementsOf(namespace), JSON.parse(body))).status).toBe(201);
    landed.resolve(undefined);

    const given = await world.until(late, 'waiting again', ({ status }) => status?.attempts?.[0]?.stage === 'Ended');
    expect(given.status?.attempts).toMatchObject([{ epoch: 1, reason: 'PlacementLost', charged: false }]);
    expect(await podsOf(namespace, late)).toBe(0);
    expect((await world.readJob(namespace, 'a-early')).status).toMatchObject({ epoch: 1, restarts: { total: 0 } });

    await world.plane.kubectl(['-n', namespace, 'delete', 'tjob', 'a-early']);
    const runs = await world.until(late, 'running in its turn', isRunning);
    expect(runs.status).toMatchObject({ epoch: 2, restarts: { charged: 0 } });
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
