import { TrainingJobStatus, type TrainingJob } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { poisoned, reportCause } from '@coxswain/api-types/testing/poison';
import type { KubeObject } from '@coxswain/kube';
import { withReadableStatus } from '@coxswain/lifecycle';
import { judgeQuarantine } from '@coxswain/lifecycle';
import fc from 'fast-check';
import { createClusterScheduler } from './cluster-scheduler.ts';
import { toWitness } from '../quarantine/quarantine-controller.ts';
import { FabricSurvey } from '../fabric/fabric-survey.ts';
import { GoodputTotals } from '../process/goodput-totals.ts';
import { CacheScript } from '../testing/a-cluster-cache.ts';
import { aCheckpoint, aPlacement } from '@coxswain/lifecycle/testing';
import { ReconcilerWorld } from './testing/reconciler-world.ts';
import { Watches } from './watches.ts';

type Status = Readonly<Record<string, unknown>>;

const world = new ReconcilerWorld();
await world.live(({ epoch, podIndex }) => (epoch === 1 && podIndex === 0 ? 1 : 'runs'));
const STATUS = JSON.parse(JSON.stringify(world.job.status)) as Status;
const WAITING: Status = {
  ...STATUS,
  conditions: [
    {
      type: 'Placed',
      status: 'False',
      reason: 'WaitingForCapacity',
      message: 'm',
      observedGeneration: 1,
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
  ],
};
const RUNS = { numRuns: 60, seed: 34, reporter: reportCause } as const;

/** Lets every reader of all jobs read a healthy job beside a spoilt one, and its Placement and Checkpoint. */
function readAllBeside(
  spoiltIn: (script: CacheScript) => object,
  { spec, ofCheckpoint }: { readonly spec?: unknown; readonly ofCheckpoint?: unknown } = {},
): void {
  const script = new CacheScript();
  const { cache, clock } = script;
  const scheduler = createClusterScheduler(cache, clock);
  const woken: string[] = [];
  const watches = new Watches({
    cache,
    clock,
    podNewsIntervalMs: 0,
    scheduler,
    wake: (key) => woken.push(key),
    onJobDeleted: () => undefined,
  });
  script.node('node-a');
  const healthy = script.job('healthy', { status: WAITING as unknown as TrainingJobStatus });
  const spoilt = spoiltIn(script) as TrainingJob & KubeObject;
  const metadata = { ...spoilt.metadata, resourceVersion: '999' };
  cache.jobs.cached.upsert(withReadableStatus({ ...spoilt, metadata }));
  const placement = aPlacement(spoilt, { epoch: 1 });
  cache.placements.cached.upsert({
    ...placement,
    metadata: { ...placement.metadata, uid: 'placement', resourceVersion: '999' },
    ...(spec === undefined ? {} : { spec }),
  } as typeof placement & KubeObject);
  if (ofCheckpoint !== undefined) {
    const checkpoint = aCheckpoint(spoilt);
    cache.checkpoints.cached.upsert({
      ...checkpoint,
      metadata: { ...checkpoint.metadata, uid: 'checkpoint', resourceVersion: '999' },
      spec: ofCheckpoint,
    } as typeof checkpoint & KubeObject);
  }
  expect(scheduler.waitingJobs('gpus').map(({ job }) => job.metadata.name)).toContain('healthy');
  expect(scheduler.offer('nodes').map(({ metadata: { name } }) => name)).toContain('healthy');
  scheduler.capacityFor(healthy.metadata.uid);
  judgeQuarantine([], cache.jobs.cached.list().map(toWitness), clock.now());
  new FabricSurvey(cache).changedGangs();
  const totals = new GoodputTotals(() => clock.now());
  for (const job of cache.jobs.cached.list()) totals.record(job);
  expect(totals.read().map(({ gpuSeconds }) => typeof gpuSeconds)).not.toContain('string');
  cache.jobs.cached.remove({ ...spoilt, metadata: { ...metadata, resourceVersion: '1000' } });
  watches.stop();
}

describe('a status that holds something else in any place', () => {
  it.each([
    ['of a gang', STATUS],
    ['of a job that waits', WAITING],
  ])('hurts no reader of all jobs: %s', (_, status) => {
    fc.assert(
      fc.property(poisoned(status), (poison) => {
        readAllBeside((script) => ({ ...script.job('spoilt'), status: poison }));
      }),
      RUNS,
    );
  });

  it('lets its own job be reconciled, without an error and to a readable status', async () => {
    await fc.assert(
      fc.asyncProperty(poisoned(STATUS), async (poison) => {
        const own = new ReconcilerWorld();
        await own.live();
        own.edit((job) => withReadableStatus({ ...job, status: poison } as unknown as typeof job));
        await own.live();
        expect(TrainingJobStatus.safeParse(own.job.status).error).toBeUndefined();
      }),
      { ...RUNS, numRuns: 15 },
    );
  });
});

describe('a spec that holds something else in any place', () => {
  const job = aTrainingJob();
  it.each<[string, object, (poison: unknown) => void]>([
    [
      'of a job',
      job.spec,
      (poison) => {
        for (const status of [STATUS, WAITING])
          readAllBeside((script) => ({ ...script.job('spoilt'), spec: poison, status }));
      },
    ],
    [
      'of a Placement',
      aPlacement(job).spec,
      (poison) => readAllBeside((script) => ({ ...script.job('spoilt'), status: STATUS }), { spec: poison ?? null }),
    ],
    [
      'of a Checkpoint',
      aCheckpoint(job).spec,
      (poison) =>
        readAllBeside((script) => ({ ...script.job('spoilt'), status: STATUS }), { ofCheckpoint: poison ?? null }),
    ],
  ])('hurts no reader of all jobs: %s', (_whose, spec, read) => {
    fc.assert(fc.property(poisoned(spec), read), RUNS);
  });

  it('lets its own job be reconciled, without an error and to a readable status', async () => {
    await fc.assert(
      // The store of the test clones what it is given, which is no deeper than its stack.
      fc.asyncProperty(poisoned(job.spec, { depth: 200 }), async (poison) => {
        const own = new ReconcilerWorld();
        await own.live();
        own.edit((live) => ({ ...live, spec: poison }) as unknown as typeof live);
        await own.live();
        expect(TrainingJobStatus.safeParse(own.job.status).error).toBeUndefined();
      }),
      { ...RUNS, numRuns: 15 },
    );
  });
});
