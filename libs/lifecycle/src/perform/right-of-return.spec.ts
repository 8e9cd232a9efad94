import { ParallelLayout, worldSize } from '@coxswain/layout';
import { PriorityTown, type TownJob } from '../testing/room-for-others.ts';

/** A low job has made room for a high one, which runs. Another low job waits, which the operator asks first. */
function aTownThatMadeRoom(...more: readonly TownJob[]): PriorityTown {
  const town = new PriorityTown([
    { name: 'low', className: 'low' },
    { name: 'high', className: 'high' },
    { name: 'other', className: 'low', namespace: 'other' },
    ...more,
  ]);
  town.chooseAsScheduled();
  town.train('low');
  town.until(() => town.job('high').status?.state === 'Running');
  town.reconcile();
  expect(town.states()).toMatchObject({ low: 'Restarting', other: 'Queued' });
  return town;
}

/** The high job finishes, and the operator knows it. */
function endHigh(town: PriorityTown): void {
  town.tick(1_000, ['high']);
  town.until(() => town.job('high').status?.state === 'Complete', 'high');
}

const returnUntil = (town: PriorityTown): string | undefined =>
  town.job('low').status?.attempts?.[0]?.forClaim?.returnUntil;

describe('a job that made room', () => {
  it.each<[string, (town: PriorityTown) => void]>([
    ['when the other job has ended', endHigh],
    [
      'when the other job is deleted',
      (town) => {
        town.world('high').apply({ kind: 'delete' });
        town.until(() => town.world('high').job === undefined, 'high');
      },
    ],
    [
      'although another operator leads when the other job ends',
      (town) => {
        town.cluster.restart();
        endHigh(town);
        town.cluster.restart();
      },
    ],
  ])('gets its nodes back before others of its priority %s', (_when, end) => {
    const town = aTownThatMadeRoom();
    end(town);
    town.until(() => town.job('low').status?.state === 'Running', 'other', 'low');
    expect(town.job('other').status?.attempts ?? []).toEqual([]);
    expect(town.allViolations()).toEqual([]);
  });

  it('has them kept for two minutes, which status records', () => {
    const town = aTownThatMadeRoom();
    endHigh(town);
    const endedMs = town.nowMs;
    town.world('low').apply({ kind: 'plannerFails' });
    town.reconcile('other');
    expect(town.job('other').status?.state).toBe('Queued');
    town.tick(130_000);
    town.until(() => town.job('other').status?.state === 'Running', 'other');
    expect(town.nowMs - endedMs).toBeLessThan(240_000);
    town.until(() => returnUntil(town) === undefined || Date.parse(returnUntil(town) ?? '') < town.nowMs, 'low');
  });

  it('does not keep a job of a higher priority from them', () => {
    const town = aTownThatMadeRoom({ name: 'second', className: 'high', namespace: 'other' });
    endHigh(town);
    town.until(() => town.job('second').status?.state === 'Running', 'second', 'low');
    expect(town.job('low').status?.attempts).toHaveLength(1);
    expect(town.allViolations()).toEqual([]);
  });

  it('keeps the place in line of the job that waits for it', () => {
    const town = aTownThatMadeRoom();
    const starts = town.world('high').history.flatMap(({ claim, expectedStart }) => (claim ? [expectedStart] : []));
    expect(starts.length).toBeGreaterThan(1);
    expect(new Set(starts.map((start) => start?.promisedAt)).size).toBe(1);
    expect(starts[0]?.promisedAt).toBeDefined();
  });
});

describe('an elastic job', () => {
  const ONE_NODE = { layout: ParallelLayout.parse({ tensorParallelDegree: 2 }) };

  it('makes room with a part of its GPUs, trains on, and takes them back at once when the other job has ended', () => {
    const town = new PriorityTown([
      { name: 'low', className: 'low', elastic: { gpus: 4, minGpus: 2 } },
      { name: 'high', className: 'high', spec: ONE_NODE },
      { name: 'other', className: 'low', namespace: 'other', spec: ONE_NODE },
    ]);
    town.chooseAsScheduled();
    town.train('low');
    town.until(() => town.job('high').status?.state === 'Running', 'high', 'low');
    town.until(() => town.job('low').status?.state === 'Running', 'low', 'other');
    const sizes = (): readonly number[] =>
      (town.job('low').status?.attempts ?? []).map(({ layout }) => worldSize(layout));
    expect(sizes()).toEqual([4, 2]);
    expect(town.world('high').history.find(({ claim }) => claim !== undefined)?.claim).toMatchObject({
      victims: [{ name: 'low', wayOut: 'Shrink', toGpus: 2 }],
    });
    town.until(() => (town.job('low').status?.attempts?.at(-1)?.firstStep?.step ?? 0) > 0, 'low');
    endHigh(town);
    const endedMs = town.nowMs;
    town.reconcile('other', 'low');
    town.world('low').apply({ kind: 'saveCheckpoint', pick: 5_000 });
    town.until(() => sizes().length === 3 && town.job('low').status?.state === 'Running', 'other', 'low');
    expect(sizes()).toEqual([4, 2, 4]);
    expect(town.nowMs - endedMs).toBeLessThan(240_000);
    expect(town.job('low').status).toMatchObject({
      restarts: { charged: 0 },
      attempts: [{ reason: 'MadeRoom' }, { reason: 'GpusFree' }, { stage: 'Released' }],
    });
    expect(town.job('other').status?.attempts ?? []).toEqual([]);
    expect(town.allViolations()).toEqual([]);
  });
});
