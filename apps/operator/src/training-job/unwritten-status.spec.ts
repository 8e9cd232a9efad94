import { CONTAINERS, type TrainingJob } from '@coxswain/api-types';
import { keyOf, KubeApiError, type KubeObject } from '@coxswain/kube';
import { ReconcilerWorld, type PodFate, type RawPod } from './testing/reconciler-world.ts';

type Job = TrainingJob & KubeObject;

const MINUTE_MS = 60_000;
const FAILURES = [
  ['fails', new KubeApiError({ status: 503, reason: 'InternalError', message: 'failed calling webhook' })],
  ['refuses', new KubeApiError({ status: 422, reason: 'Invalid', message: 'status: Invalid value' })],
] as const;

/** The API server does not accept a status any more. */
function rejectStatus(world: ReconcilerWorld, error: Error): void {
  world.onWrite = ({ what, moment }) => {
    if (moment === 'before' && what.startsWith('writeStatus')) throw error;
  };
}

/** The queue tries again each minute, whatever the last try ended with. */
async function minutes(world: ReconcilerWorld, count: number, fateOf?: PodFate): Promise<void> {
  for (let minute = 0; minute < count; minute += 1) {
    await world.reconcile().catch(() => undefined);
    world.turn(fateOf);
    world.nowMs += MINUTE_MS;
  }
}

const phaseOf = ({ status }: RawPod): string => (status as { readonly phase: string }).phase;
const edited = (spec: Partial<Job['spec']>) => (job: Job) => ({ ...job, spec: { ...job.spec, ...spec } });

describe.each(FAILURES)('while the API server %s each status of a job', (_, error) => {
  it.each([
    ['is suspended', (world: ReconcilerWorld) => world.edit(edited({ suspend: true })), 'Suspended'],
    ['is cancelled', (world: ReconcilerWorld) => world.edit(edited({ cancel: true })), 'Cancelled'],
  ])(
    'a gang whose job %s gives its GPUs back after five minutes, and its end is recorded later',
    async (_, ask, state) => {
      const world = new ReconcilerWorld();
      await world.live();
      rejectStatus(world, error);
      ask(world);
      await minutes(world, 5);
      expect(world.pods.map(phaseOf)).toEqual(['Running', 'Running']);
      await minutes(world, 3);
      // The finalizer keeps the pods, and with them what they report.
      expect(world.pods.map(phaseOf)).toEqual(['Failed', 'Failed']);
      expect(world.job.status?.state).toBe('Running');
      expect(world.warnings.join()).toContain('2 pods of a gang that is to end are deleted without it');
      world.onWrite = () => undefined;
      await world.live();
      expect(world.job.status).toMatchObject({ state, epoch: 1, restarts: { total: 0 } });
    },
  );

  it('a gang with a failed rank gives its GPUs back, and its failure is recorded and charged once later', async () => {
    const world = new ReconcilerWorld();
    await world.live();
    rejectStatus(world, error);
    const fate: PodFate = ({ epoch, podIndex }) => (epoch === 1 && podIndex === 1 ? 7 : 'runs');
    await minutes(world, 5, fate);
    expect(world.pods.map(phaseOf)).toEqual(['Running', 'Failed']);
    await minutes(world, 4, fate);
    expect(world.pods.map(phaseOf)).toEqual(['Failed', 'Failed']);
    world.onWrite = () => undefined;
    await world.live(fate);
    expect(world.job.status).toMatchObject({ state: 'Running', epoch: 2, restarts: { total: 1, charged: 1 } });
    expect(world.job.status?.attempts?.[0]).toMatchObject({
      outcome: 'Failed',
      message: expect.stringContaining('7') as string,
    });
  });

  it('a gang gives back the GPUs that a sidecar keeps after the trainer', async () => {
    const world = new ReconcilerWorld();
    await world.live();
    rejectStatus(world, error);
    for (const pod of world.pods) linger(world, pod);
    for (let minute = 0; minute < 8; minute += 1) {
      await world.reconcile().catch(() => undefined);
      world.nowMs += MINUTE_MS;
    }
    expect(world.pods.map(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([true, true]);
  });

  it('a job that is deleted goes', async () => {
    const world = new ReconcilerWorld();
    await world.live();
    rejectStatus(world, error);
    world.cluster.delete('TrainingJob', world.key);
    await minutes(world, 10);
    expect(world.store.findJob(world.key)).toBeUndefined();
  });

  it('a gang that was to stop before is stopped at once', async () => {
    const world = new ReconcilerWorld();
    await world.live();
    let writes = 0;
    world.onWrite = ({ what, moment }) => {
      if (moment === 'before' && what.startsWith('writeStatus') && (writes += 1) > 1) throw error;
      // A slow server: the passes after the first write are the next leader's.
      if (moment === 'before' && what.startsWith('deletePod') && writes === 1) throw unavailable;
    };
    world.edit(edited({ suspend: true }));
    await world.reconcile().catch(() => undefined);
    expect(world.job.status?.attempts?.[0]?.stage).toBe('Stopping');
    rejectStatus(world, error);
    // Something else to record comes in between.
    world.edit(edited({ restartPolicy: { maxRestarts: 5, delaySeconds: 0, inPlace: 'WhenPossible' } }));
    await minutes(world, 2);
    expect(world.pods.map(phaseOf)).toEqual(['Failed', 'Failed']);
  });

  it('a healthy gang trains on, however long', async () => {
    const world = new ReconcilerWorld();
    await world.live();
    rejectStatus(world, error);
    world.edit(edited({ restartPolicy: { maxRestarts: 5, delaySeconds: 0, inPlace: 'WhenPossible' } }));
    await minutes(world, 60);
    expect(world.pods.map(({ metadata }) => metadata.deletionTimestamp)).toEqual([undefined, undefined]);
    expect(world.reconciler.unrecorded()).toBe(1);
    world.onWrite = () => undefined;
    await world.live();
    expect([world.reconciler.unrecorded(), world.job.status?.state]).toEqual([0, 'Running']);
  });

  it('a pod without our finalizer stays, because nothing would keep what it reports', async () => {
    const world = new ReconcilerWorld();
    await world.live();
    rejectStatus(world, error);
    const [pod] = world.pods;
    const change = (one: RawPod): RawPod => ({ ...one, metadata: { ...one.metadata, finalizers: [] } });
    world.cluster.update<RawPod>('Pod', `research/${pod?.metadata.name}`, { expects: {}, change });
    world.edit(edited({ suspend: true }));
    await minutes(world, 10);
    expect(world.pods.map(phaseOf)).toEqual(['Running', 'Failed']);
  });

  it('a new leader waits five minutes of its own', async () => {
    const world = new ReconcilerWorld();
    await world.live();
    rejectStatus(world, error);
    world.edit(edited({ suspend: true }));
    await minutes(world, 4);
    world.restart();
    await minutes(world, 4);
    expect(world.pods.map(phaseOf)).toEqual(['Running', 'Running']);
    await minutes(world, 3);
    expect(world.pods.map(phaseOf)).toEqual(['Failed', 'Failed']);
  });
});

const unavailable = new KubeApiError({ status: 503, reason: 'ServiceUnavailable', message: 'busy' });

/** The trainer of the pod ends, and a sidecar runs on. */
function linger(world: ReconcilerWorld, pod: RawPod): void {
  const finishedAt = '2026-01-01T00:00:00Z';
  const containerStatuses = [
    { name: CONTAINERS.trainer, image: 'i', state: { terminated: { exitCode: 0, reason: 'Completed', finishedAt } } },
    { name: 'logs', image: 'i', state: { running: { startedAt: finishedAt } } },
  ];
  const status = { phase: 'Running', containerStatuses };
  world.cluster.update<RawPod>('Pod', keyOf(pod), { expects: {}, change: (one) => ({ ...one, status }) });
}

it('a write that the API server made and did not answer is not missing once the job rests', async () => {
  const world = new ReconcilerWorld();
  await world.live();
  world.onWrite = ({ what, moment }) => {
    if (moment === 'after' && what.startsWith('writeStatus')) throw FAILURES[0][1];
  };
  world.edit(edited({ suspend: true }));
  await minutes(world, 12);
  expect(world.job.status?.state).toBe('Suspended');
  expect(world.reconciler.unrecorded()).toBe(0);
});
