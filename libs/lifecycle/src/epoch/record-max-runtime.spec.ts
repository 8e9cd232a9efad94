import { type Attempt, FINALIZER, findCondition, type TrainingJobSpec } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { MINUTE_MS } from '@coxswain/units';
import { jobEvents } from '../decide/job-events.ts';
import { runtimeLeft } from '../disruption/max-runtime.ts';
import { recordOf } from '../record/job-record.ts';
import { World } from '../testing/index.ts';
import { aJob, anAttempt, aRunningJob, aStatus, settled } from '../testing/jobs.ts';

const HOUR = 3_600;
const at = (time: string): Date => new Date(`2026-01-01T${time}Z`);

describe('of one hour a run has left', () => {
  const ended = (epoch: number, from: string, to: string, outcome: Attempt['outcome'] = 'Failed'): Attempt =>
    anAttempt({
      epoch,
      stage: 'Ended',
      outcome,
      startedAt: at(from).toISOString(),
      endedAt: at(to).toISOString(),
    });
  const runs = (epoch: number, from: string): Attempt => anAttempt({ epoch, startedAt: at(from).toISOString() });
  const waits = { heldSeconds: 600, throughEpoch: 7 };
  it.each<[string, Parameters<typeof aStatus>[0], number]>([
    ['all of it before its first attempt', { attempts: [] }, 60],
    ['what the running attempt has not held', { attempts: [runs(1, '00:30:00')] }, 30],
    [
      'what all of its attempts have not held; the wait between them does not count',
      { attempts: [ended(1, '00:00:00', '00:10:00'), runs(2, '00:45:00')] },
      35,
    ],
    ['nothing less while it waits', { attempts: [ended(1, '00:00:00', '00:10:00')] }, 50],
    [
      'all but the time since its last suspension',
      { attempts: [ended(1, '00:00:00', '00:30:00', 'Suspended'), runs(2, '00:50:00')] },
      50,
    ],
    [
      'less the recorded time of attempts that status has dropped',
      { runtime: waits, attempts: [runs(8, '00:50:00')] },
      40,
    ],
    [
      'not less for an attempt that is in the recorded time',
      { runtime: waits, attempts: [ended(7, '00:00:00', '00:10:00'), runs(8, '00:50:00')] },
      40,
    ],
    ['all of it if the attempt began by a clock that is ahead', { attempts: [runs(1, '01:30:00')] }, 60],
  ])('%s', (_sentence, status, minutes) => {
    const job = aJob({ spec: { maxRuntimeSeconds: HOUR }, status: aStatus(status) });
    expect(runtimeLeft(recordOf(job), job, at('01:00:00'))?.leftMs).toBe(minutes * MINUTE_MS);
  });

  it.each([
    ['a tenth of an hour', HOUR, 6],
    ['at most 15 minutes', 100 * HOUR, 15],
  ])('before its end is announced: %s', (_sentence, maxRuntimeSeconds, minutes) => {
    const job = aJob({ spec: { maxRuntimeSeconds } });
    expect(runtimeLeft(recordOf(job), job, at('01:00:00'))?.announceAtMs).toBe(minutes * MINUTE_MS);
  });
});

/** Trains two nodes of two GPUs since midnight, with a limit of an hour. */
function aWorld(spec: Partial<TrainingJobSpec> = {}): World {
  const job = aTrainingJob({ metadata: { finalizers: [FINALIZER] }, spec: { maxRuntimeSeconds: HOUR, ...spec } });
  const world = new World(job, { gpuCapacity: 2 });
  world.reportsSteps = true;
  return world;
}

/** Reconciles every ten seconds until that time of the day. */
function until(world: World, time: string): void {
  for (let turn = 0; world.now < at(time) && turn < 2_000; turn += 1) {
    world.reconcile();
    world.tick(10_000);
  }
  world.reconcile();
}

const newest = ({ job }: World): Attempt | undefined => job?.status?.attempts?.at(-1);
const reasonOf = (world: World, type: 'Failed' | 'MaxRuntimeNear'): string | undefined =>
  findCondition(world.job?.status?.conditions, type)?.reason;
const eventsOf = ({ job, checkpoints, placements }: World): readonly string[] =>
  job === undefined ? [] : jobEvents({ job, checkpoints, placements }).map(({ type }) => type);
const change = (world: World, spec: Partial<TrainingJobSpec>): void => {
  if (world.job !== undefined) world.job = { ...world.job, spec: { ...world.job.spec, ...spec } };
};

describe('a run with a limit of an hour', () => {
  it('is announced its end, asked to save, stopped, and ends with a reason of its own and its checkpoints', () => {
    const world = aWorld();
    until(world, '00:53:00');
    expect([reasonOf(world, 'MaxRuntimeNear'), newest(world)?.earlySave]).toEqual([undefined, undefined]);
    until(world, '00:55:00');
    expect([reasonOf(world, 'MaxRuntimeNear'), newest(world)?.earlySave]).toEqual(['LimitNear', undefined]);
    expect(eventsOf(world)).toContain('MaxRuntimeNear');
    until(world, '00:59:00');
    expect(newest(world)).toMatchObject({
      stage: 'Released',
      earlySave: { request: 1, why: expect.stringContaining('1 h 0 min') },
    });
    const { step = 0 } = world.job?.status?.progress ?? {};
    world.apply({ kind: 'saveCheckpoint', pick: step });
    until(world, '01:05:00');
    expect(newest(world)).toMatchObject({ outcome: 'Cancelled', reason: 'MaxRuntimeReached', charged: false });
    expect(world.job?.status).toMatchObject({ state: 'Failed', restarts: { total: 0, charged: 0 } });
    expect(reasonOf(world, 'Failed')).toBe('MaxRuntimeReached');
    expect(world.job?.status?.summary).toMatch(
      /^The run has held GPUs for 1 h 0 min, the limit of spec\.maxRuntimeSeconds\. .*Its checkpoints stay; the newest is .* of step \d+\.$/,
    );
    expect(eventsOf(world).at(-1)).toBe('Failed');
    expect([world.checkpoints.length > 0, world.pods.filter(({ phase }) => phase === 'Running')]).toEqual([true, []]);
    expect(world.violations).toEqual([]);
  });

  it('is reconciled when its end is to be announced, without any report or change', () => {
    const seen = aRunningJob({ spec: { spec: { maxRuntimeSeconds: HOUR } } });
    expect(settled(seen).requeueAfterMs).toBe(44 * MINUTE_MS);
  });

  it.each<[string, string]>([
    ['before the announcement', '00:50:00'],
    ['between the request to save and the stop', '00:58:30'],
    ['after the limit', '00:59:50'],
  ])('ends once under a leader that takes over %s', (_sentence, time) => {
    const world = aWorld();
    until(world, time);
    const { earlySave } = newest(world) ?? {};
    world.apply({ kind: 'crash', afterWrites: 0 });
    until(world, '01:06:00');
    expect(newest(world)).toMatchObject({ epoch: 1, reason: 'MaxRuntimeReached' });
    if (earlySave !== undefined) expect(newest(world)?.earlySave?.request).toBe(earlySave.request);
    expect(reasonOf(world, 'Failed')).toBe('MaxRuntimeReached');
    expect(world.violations).toEqual([]);
  });

  it('goes on if the limit is raised after the announcement, and takes the condition back', () => {
    const world = aWorld();
    until(world, '00:57:00');
    change(world, { maxRuntimeSeconds: 2 * HOUR });
    until(world, '01:30:00');
    expect([reasonOf(world, 'MaxRuntimeNear'), newest(world)?.stage]).toEqual([undefined, 'Released']);
    until(world, '01:57:00');
    expect(reasonOf(world, 'MaxRuntimeNear')).toBe('LimitNear');
  });

  it('ends at once if the limit is lowered below what it has used', () => {
    const world = aWorld();
    until(world, '00:30:00');
    change(world, { maxRuntimeSeconds: 600 });
    until(world, '00:32:00');
    expect(reasonOf(world, 'Failed')).toBe('MaxRuntimeReached');
    expect(world.job?.status?.summary).toMatch(
      /^The run has held GPUs for 30 min.*, longer than the 10 min.* of spec\.maxRuntimeSeconds\. /,
    );
  });

  it('counts on if the limit is taken away and set again', () => {
    const world = aWorld({ restartPolicy: { maxRestarts: 9, delaySeconds: 5, inPlace: 'Never' } });
    until(world, '00:40:00');
    world.apply({ kind: 'exit', code: 1, pick: 0 });
    until(world, '00:45:00');
    const { heldSeconds } = world.job?.status?.runtime ?? {};
    change(world, { maxRuntimeSeconds: undefined });
    until(world, '00:50:00');
    expect(world.job?.status?.runtime).toMatchObject({ heldSeconds, throughEpoch: 1 });
    expect(reasonOf(world, 'MaxRuntimeNear')).toBeUndefined();
    change(world, { maxRuntimeSeconds: HOUR });
    until(world, '01:10:00');
    expect(world.job?.status).toMatchObject({ epoch: 2, state: 'Failed' });
  });

  it.each<[string, number, string, (world: World) => void]>([
    ['before its first step', 60, 'Failed', (world) => void (world.reportsSteps = false)],
    ['while it stops for a suspension', HOUR, 'Suspended', (world) => world.apply({ kind: 'suspend' })],
    ['while it stops for a cancel', HOUR, 'Cancelled', (world) => world.apply({ kind: 'cancel' })],
  ])('ends in its first attempt if the limit is reached %s', (_sentence, maxRuntimeSeconds, state, act) => {
    const world = aWorld({ maxRuntimeSeconds });
    if (maxRuntimeSeconds === HOUR) until(world, '00:59:50');
    act(world);
    until(world, '01:06:00');
    expect(world.job?.status).toMatchObject({ state, epoch: 1 });
    expect(world.pods.filter(({ phase }) => phase === 'Running')).toEqual([]);
    expect(world.violations).toEqual([]);
  });

  it('has no limit without the field, and its status says nothing of it', () => {
    const world = aWorld({ maxRuntimeSeconds: undefined });
    until(world, '02:00:00');
    expect([newest(world)?.stage, world.job?.status?.runtime]).toEqual(['Released', undefined]);
  });

  it('counts anew after a suspension', () => {
    const world = aWorld();
    until(world, '00:40:00');
    world.apply({ kind: 'suspend' });
    until(world, '00:45:00');
    expect(world.job?.status).toMatchObject({ state: 'Suspended' });
    world.apply({ kind: 'resume' });
    until(world, '01:20:00');
    expect(newest(world)).toMatchObject({ epoch: 2, stage: 'Released' });
    until(world, '02:00:00');
    expect(reasonOf(world, 'Failed')).toBe('MaxRuntimeReached');
  });

  it('counts anew after a suspension between two attempts, and does not end while it is suspended', () => {
    const world = aWorld({ restartPolicy: { maxRestarts: 9, delaySeconds: 300, inPlace: 'Never' } });
    until(world, '00:50:00');
    world.apply({ kind: 'exit', code: 1, pick: 0 });
    until(world, '00:51:00');
    world.apply({ kind: 'suspend' });
    until(world, '00:52:00');
    expect(world.job?.status).toMatchObject({ state: 'Suspended', epoch: 1, runtime: { heldSeconds: 0 } });
    change(world, { maxRuntimeSeconds: 600 });
    until(world, '02:00:00');
    expect(world.job?.status).toMatchObject({ state: 'Suspended' });
    change(world, { maxRuntimeSeconds: HOUR });
    world.apply({ kind: 'resume' });
    until(world, '02:40:00');
    expect(newest(world)).toMatchObject({ epoch: 2, stage: 'Released' });
  });

  it('counts its attempts together, and ends between two of them without another one', () => {
    const world = aWorld({ restartPolicy: { maxRestarts: 9, delaySeconds: 5, inPlace: 'Never' } });
    until(world, '00:40:00');
    world.apply({ kind: 'exit', code: 1, pick: 0 });
    until(world, '00:45:00');
    expect(world.job?.status).toMatchObject({ epoch: 2, runtime: { throughEpoch: 1 } });
    until(world, '01:10:00');
    expect(world.job?.status).toMatchObject({ epoch: 2, state: 'Failed' });
    expect(newest(world)?.reason).toBe('MaxRuntimeReached');
  });
});
