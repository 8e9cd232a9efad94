import { TrainingJobStatus, type TrainingJob } from '@coxswain/api-types';
import type { KubeObject } from '@coxswain/kube';
import { withReadableStatus } from '@coxswain/lifecycle';
import { judgeQuarantine } from '@coxswain/lifecycle';
import fc from 'fast-check';
import { createClusterScheduler } from './cluster-scheduler.ts';
import { toWitness } from '../quarantine/quarantine-controller.ts';
import { FabricSurvey } from '../fabric/fabric-survey.ts';
import { GoodputTotals } from '../process/goodput-totals.ts';
import { CacheScript } from '../testing/a-cluster-cache.ts';
import { ReconcilerWorld } from './testing/reconciler-world.ts';
import { Watches } from './watches.ts';

type Status = Readonly<Record<string, unknown>>;

const junk = fc.oneof(
  fc.constantFrom<unknown>(null, '', 'x', '7', -1, 0.5, 1e308, true, [], {}, [null], [[]], [7, 'x', {}], 'never'),
  fc.constant(nested(2_000)),
  fc.constant(Array.from({ length: 5_000 }, () => ({ epoch: 1, type: 'Placed' }))),
  fc.jsonValue({ maxDepth: 2 }),
);

/** A real status in which some places hold something else. */
const poisoned = (status: Status): fc.Arbitrary<unknown> => {
  const paths = pathsOf(status);
  const changes = fc.array(fc.tuple(fc.constantFrom(...paths), junk), { minLength: 1, maxLength: 4 });
  const spoilt = changes.map((all) =>
    all.reduce((current, [path, value]) => changedAt(current, path, value), status as unknown),
  );
  return fc.oneof({ weight: 9, arbitrary: spoilt }, { weight: 1, arbitrary: junk });
};

/** Every place of a value, by its keys from the root. */
function pathsOf(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return path.length === 0 ? [] : [path];
  const inner = Object.entries(value).flatMap(([key, one]) => pathsOf(one, [...path, key]));
  return path.length === 0 ? inner : [path, ...inner];
}

function changedAt(value: unknown, [key, ...rest]: readonly string[], put: unknown): unknown {
  if (key === undefined || typeof value !== 'object' || value === null) return put;
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Record<string, unknown>;
  copy[key] = rest.length === 0 ? put : changedAt(copy[key], rest, put);
  return copy;
}

function nested(depth: number): unknown {
  let value: unknown = 'deep';
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { value };
  return value;
}

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
const RUNS = { numRuns: 60, seed: 34 };

describe('a status that holds something else in any place', () => {
  it.each([
    ['of a gang', STATUS],
    ['of a job that waits', WAITING],
  ])('hurts no reader of all jobs: %s', (_, status) => {
    fc.assert(
      fc.property(poisoned(status), (poison) => {
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
        const spoilt = { ...script.job('spoilt'), status: poison } as unknown as TrainingJob & KubeObject;
        const metadata = { ...spoilt.metadata, resourceVersion: '999' };
        cache.jobs.cached.upsert(withReadableStatus({ ...spoilt, metadata }));
        script.placement(spoilt, { epoch: 1 });
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
