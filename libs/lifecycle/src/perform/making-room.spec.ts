import { ParallelLayout } from '@coxswain/layout';
import { PriorityTown, type TownJob } from '../testing/room-for-others.ts';

/** A gang of one pod. */
const ONE_NODE = { layout: ParallelLayout.parse({ tensorParallelDegree: 2 }) };

/** A low job that trains on all nodes, with a checkpoint of its 20th step, and a high one that was just submitted. */
function aTown(...more: readonly TownJob[]): PriorityTown {
  const town = new PriorityTown([{ name: 'low', className: 'low' }, { name: 'high', className: 'high' }, ...more]);
  town.until(() => (town.job('low').status?.progress?.step ?? 0) > 20, 'low');
  town.world('low').apply({ kind: 'saveCheckpoint', pick: 20 });
  town.reconcile('low');
  return town;
}

describe('a job of high priority for which there is no room', () => {
  it('starts on the nodes of a job of low priority, which saves, stops, waits and goes on', () => {
    const town = aTown();
    town.until(() => town.job('high').status?.state === 'Running');
    expect(town.job('low').status?.attempts?.at(-1)).toMatchObject({
      stage: 'Ended',
      outcome: 'Moved',
      reason: 'MadeRoom',
      charged: false,
      forClaim: { name: 'high', uid: town.job('high').metadata.uid, epoch: 1, priority: 100, wayOut: 'Wait' },
    });
    expect(town.job('high').status?.claim).toBeUndefined();
    expect(town.job('low').status?.restarts).toEqual({ total: 0, charged: 0 });
    town.tick(1_000, ['high']);
    town.until(() => town.job('low').status?.state === 'Running');
    expect(town.job('low').status?.attempts?.at(-1)).toMatchObject({ epoch: 2, resumedFrom: { step: 20 } });
    town.tick(1_000, ['low']);
    town.until(() => town.job('low').status?.state === 'Complete');
    expect([town.allViolations(), town.states()]).toEqual([[], { low: 'Complete', high: 'Complete' }]);
  });
});

describe('with the choice of the scheduler, a job of high priority', () => {
  it('starts on the nodes of the job of low priority, which goes on when the high one is done', () => {
    const town = aTown();
    town.chooseAsScheduled();
    town.until(() => town.job('high').status?.state === 'Running');
    expectMadeRoomOnce(town);
    expect(town.world('high').history.find(({ claim }) => claim !== undefined)?.claim).toMatchObject({
      victims: [{ name: 'low', wayOut: 'Wait', savesWhenAsked: true }],
    });
    town.tick(1_000, ['high']);
    town.until(() => town.job('low').status?.attempts?.length === 2);
  });

  it('takes free nodes and only as many others as it needs', () => {
    const town = new PriorityTown(
      [
        { name: 'low', className: 'low' },
        { name: 'other', className: 'low', spec: ONE_NODE },
        { name: 'high', className: 'high' },
      ],
      ['node-a', 'node-b', 'node-c', 'node-d'],
    );
    town.chooseAsScheduled();
    town.until(() => ['low', 'other'].every((name) => town.job(name).status?.state === 'Running'), 'low', 'other');
    town.until(() => town.job('high').status?.state === 'Running');
    expect(town.allViolations()).toEqual([]);
    expect(town.job('low').status?.attempts).toHaveLength(1);
    expect(town.job('other').status?.attempts?.[0]).toMatchObject({ reason: 'MadeRoom', charged: false });
  });
});

/** After the high job runs: the low one stopped for it once, at no charge, and nothing of the claim is left. */
function expectMadeRoomOnce(town: PriorityTown): void {
  expect(town.allViolations()).toEqual([]);
  expect(town.job('low').status).toMatchObject({
    state: 'Restarting',
    restarts: { total: 0, charged: 0 },
    attempts: [{ epoch: 1, stage: 'Ended', reason: 'MadeRoom' }],
  });
  const { status } = town.job('high');
  expect(status?.claim).toBeUndefined();
  expect(town.world('high').placements.map(({ metadata }) => metadata.name)).toEqual([
    status?.attempts?.at(-1)?.placement,
  ]);
}

describe('the leader dies before its write number', () => {
  it.each(Array.from({ length: 26 }, (_, index) => index))('%i, and its successor ends at the same state', (write) => {
    const town = aTown();
    town.dieAfter(write);
    town.until(() => town.job('high').status?.state === 'Running');
    expect(town.cluster.leaderTerm).toBe(2);
    expectMadeRoomOnce(town);
  });

  // These are the writes of the claim, of its Placement and of the stop of the low job.
  it.each([3, 4, 5, 6, 7, 8])('%i, and that write reaches the server 15 s later', (write) => {
    const town = aTown();
    town.dieAfter(write, 15_000);
    town.until(() => town.job('high').status?.state === 'Running');
    town.until(() => town.world('high').placements.length === 1);
    expectMadeRoomOnce(town);
  });
});

/** The town once the low job has been asked to save for the high one, and trains on. */
function aTownThatAsks(...more: readonly TownJob[]): PriorityTown {
  const town = aTown(...more);
  town.until(() => town.job('low').status?.attempts?.at(-1)?.earlySave !== undefined);
  expect(town.job('high').status?.claim?.state).toBe('Asking');
  return town;
}

/** The town once the low job stops for the high one. */
function aTownThatStops(...more: readonly TownJob[]): PriorityTown {
  const town = aTownThatAsks(...more);
  town.until(() => town.job('low').status?.attempts?.at(-1)?.stage === 'Stopping');
  return town;
}

const stageOf = (town: PriorityTown, name: string): string | undefined =>
  town.job(name).status?.attempts?.at(-1)?.stage;

describe('no running job is asked', () => {
  it.each<[string, 'high' | 'polite', (town: PriorityTown) => void]>([
    ['for a class that never preempts', 'polite', () => undefined],
    ['where the administrator turned it off', 'high', ({ cluster }) => (cluster.makeRoom = undefined)],
    ['where the classes cannot be read', 'high', ({ cluster }) => (cluster.priorityClasses = undefined)],
    [
      'where no job has a lower priority',
      'high',
      ({ cluster }) => (cluster.makeRoom = () => ({ kind: 'none', reason: '' })),
    ],
  ])('%s', (_sentence, className, prepare) => {
    const town = aTown({ name: 'other', className });
    prepare(town);
    for (let round = 0; round < 10; round += 1) {
      town.reconcile('low', 'other');
      town.tick(10_000);
    }
    expect(town.job('other').status).not.toHaveProperty('claim');
    expect(town.job('low').status?.state).toBe('Running');
  });
});

describe('a claim', () => {
  it('is followed by the stop at once when the save is there', () => {
    const town = aTownThatAsks();
    town.world('low').apply({ kind: 'saveCheckpoint', pick: 5_000 });
    town.reconcile();
    expect(town.job('low').status?.attempts?.at(-1)).toMatchObject({
      stage: 'Stopping',
      earlySave: { outcome: 'Saved', why: expect.stringContaining('makes room for job high') as string },
    });
  });

  it.each([
    ['suspended', { kind: 'suspend' }, 'Suspended'],
    ['cancelled', { kind: 'cancel' }, 'Cancelled'],
  ] as const)('of a job that is %s before any job stops ends, and no job stops', (_what, fault, reason) => {
    const town = aTownThatAsks();
    town.world('high').apply(fault);
    for (let round = 0; round < 12; round += 1) {
      town.reconcile('high', 'low');
      town.tick(10_000);
    }
    expect(town.job('high').status?.claim).toMatchObject({ state: 'Ended', end: { reason } });
    expect(stageOf(town, 'low')).toBe('Released');
    expect(town.world('high').placements).toEqual([]);
  });

  it.each([
    ['suspended', { kind: 'suspend' }],
    ['cancelled', { kind: 'cancel' }],
    ['deleted', { kind: 'delete' }],
  ] as const)('of a job that is %s after the stop ends, and the other job goes on where it was', (_what, fault) => {
    const town = aTownThatStops();
    town.world('high').apply(fault);
    town.until(() => town.job('low').status?.attempts?.length === 2 && town.job('low').status?.state === 'Running');
    expect(town.job('low').status?.attempts?.[0]).toMatchObject({ reason: 'MadeRoom', charged: false });
    expect([town.allViolations(), town.world('high').placements]).toEqual([[], []]);
  });

  it('expires, and running jobs are asked again after a pause', () => {
    const town = aTown();
    town.expiresAfterSeconds = 20;
    town.until(() => town.job('high').status?.claim?.state === 'Ended');
    expect(town.job('high').status?.claim?.end?.reason).toBe('Expired');
    const { recordedAt } = town.job('high').status?.claim ?? {};
    town.reconcile();
    expect([town.job('high').status?.claim?.recordedAt, stageOf(town, 'low')]).toEqual([recordedAt, 'Released']);
    town.expiresAfterSeconds = 1_200;
    town.until(() => town.job('high').status?.state === 'Running');
    expectMadeRoomOnce(town);
  });

  it('ends when its spec is edited, and is made anew', () => {
    const town = aTownThatAsks();
    const { recordedAt } = town.job('high').status?.claim ?? {};
    town.world('high').apply({ kind: 'resume' });
    town.until(() => town.job('high').status?.claim?.recordedAt !== recordedAt);
    town.until(() => town.job('high').status?.state === 'Running');
    expectMadeRoomOnce(town);
  });

  it('whose Placement a person deletes ends', () => {
    const town = aTownThatAsks();
    town.world('high').placements = [];
    town.until(() => town.job('high').status?.state === 'Running');
    expect(town.world('high').history.map(({ claim }) => claim?.end?.reason)).toContain('PlacementLost');
    expectMadeRoomOnce(town);
  });

  it('ends if one of its nodes is lost, and the nodes that are left are found', () => {
    const town = new PriorityTown(
      [
        { name: 'low', className: 'low' },
        { name: 'high', className: 'high' },
      ],
      ['node-a', 'node-b', 'node-c'],
    );
    town.until(() => (town.job('low').status?.progress?.step ?? 0) > 20, 'low');
    town.until(() => town.job('high').status?.claim?.state === 'Asking');
    town.world('high').apply({ kind: 'loseNode', pick: 1 });
    town.until(() => town.job('high').status?.claim?.end?.reason === 'NodeUnwell');
    town.until(() => town.job('high').status?.state === 'Running');
    expect(town.allViolations()).toEqual([]);
    expect(town.world('high').placements.at(-1)?.spec.nodes).toEqual(['node-a', 'node-c']);
  });
});

describe('a job that is to make room', () => {
  it('and whose pod fails meanwhile is judged as ever, and its nodes go to the high job', () => {
    const town = aTownThatAsks();
    town.world('low').apply({ kind: 'exit', code: 1, pick: 0 });
    town.until(() => town.job('high').status?.state === 'Running');
    expect(town.job('low').status?.attempts?.[0]).toMatchObject({ outcome: 'Failed', charged: true });
    expect(town.allViolations()).toEqual([]);
  });

  it('and whose ranks restart in their pods meanwhile stops at once', () => {
    const town = aTownThatAsks();
    town.world('low').apply({ kind: 'failRank', step: 30, pick: 0 });
    town.until(() => town.job('high').status?.state === 'Running');
    expect(town.job('low').status?.attempts?.at(-1)).toMatchObject({ reason: 'MadeRoom', charged: false });
    expect(town.allViolations()).toEqual([]);
  });

  it('and finishes meanwhile is complete', () => {
    const town = aTownThatAsks();
    town.tick(1_000, ['low']);
    town.until(() => town.job('high').status?.state === 'Running');
    expect(town.states()).toEqual({ low: 'Complete', high: 'Running' });
  });

  it('does so for one of two claimants; the other one has its turn later', () => {
    const town = aTown({ name: 'second', className: 'high', namespace: 'other' });
    town.until(() => town.job('high').status?.state === 'Running');
    expect(town.job('second').status).not.toHaveProperty('claim');
    town.tick(1_000, ['high']);
    // By their turn, as the operator reconciles jobs when GPUs become free.
    town.until(() => town.job('second').status?.state === 'Running', 'high', 'second', 'low');
    town.tick(1_000, ['second']);
    town.until(() => town.job('low').status?.state === 'Running');
    expect([town.allViolations(), town.job('low').status?.attempts?.length]).toEqual([[], 2]);
  });

  it('does not name a job of another namespace', () => {
    const town = new PriorityTown([
      { name: 'low', className: 'low' },
      { name: 'secret', className: 'high', namespace: 'other' },
    ]);
    town.until(() => (town.job('low').status?.progress?.step ?? 0) > 20, 'low');
    town.until(() => town.job('secret').status?.state === 'Running');
    expect(stageOf(town, 'low')).toBe('Ended');
    expect(JSON.stringify(town.world('low').history)).not.toContain('secret');
    expect(JSON.stringify(town.world('secret').history)).not.toContain('low"');
  });
});

describe('where the cache shows another job as it was', () => {
  it('no job stops for a claim that has ended', () => {
    const town = aTownThatAsks();
    town.world('high').apply({ kind: 'suspend' });
    town.reconcile('high');
    expect(town.job('high').status?.claim?.state).toBe('Ended');
    town.world('low').apply({ kind: 'saveCheckpoint', pick: 5_000 });
    town.world('high').apply({ kind: 'staleObservation', looksAgo: 1, of: ['job'] });
    town.reconcile('low');
    expect(town.job('low').status?.attempts?.at(-1)).toMatchObject({
      stage: 'Released',
      earlySave: { outcome: 'Saved' },
    });
  });

  it('no claim is recorded on a job that has ended', () => {
    const town = aTown();
    town.tick(1_000, ['low']);
    town.reconcile('low');
    expect(town.job('low').status?.state).toBe('Complete');
    town.world('low').apply({ kind: 'staleObservation', looksAgo: 3, of: ['job', 'pods'] });
    town.reconcile('high');
    expect(town.world('high').history.map(({ claim }) => claim)).toEqual(
      town.world('high').history.map(() => undefined),
    );
  });
});
