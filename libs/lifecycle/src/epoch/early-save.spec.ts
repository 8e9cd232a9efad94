import { type Attempt, FINALIZER, type IncidentKind, NODE_LABELS, type TrainingJobSpec } from '@coxswain/api-types';
import { aPlannedJobSpec, aTrainingJob, aVerification } from '@coxswain/api-types/testing';
import { jobEvents } from '../decide/job-events.ts';
import type { Finding } from '../observation/observed.ts';
import { aNode, World } from '../testing/index.ts';
import {
  EARLY_SAVE_INTERVAL_MS,
  coveredBy,
  keysOf,
  openSaveRequest,
  type SaveQuestion,
  decideSave,
} from './early-save.ts';

const MINUTE_MS = 60_000;
const ill = { key: 'gpu-7 KernelDeadlock', kind: 'KernelDeadlock', says: 'Node gpu-7 has condition KernelDeadlock' };
const slow = { key: '1.1-slowRank-r3', kind: 'SlowRank', says: 'Slow rank of rank 3' };

const aQuestion = (more: Partial<SaveQuestion> = {}): SaveQuestion => ({
  engine: 'reference',
  keepsCheckpoints: true,
  suspicions: [ill],
  askedFor: [],
  sinceAskedMs: undefined,
  isOpen: false,
  unsavedSteps: 60,
  stepMs: 10_000,
  stallMs: 5_000,
  ...more,
});

describe('a gang is asked to save before its save is due', () => {
  it.each<[string, Partial<SaveQuestion>]>([
    ['where a node of it is suspect and ten minutes would be trained again', {}],
    ['for each of several suspicions together', { suspicions: [ill, slow] }],
    [
      'again for another suspicion, once the last request is old',
      { suspicions: [ill, slow], askedFor: [ill.key], sinceAskedMs: EARLY_SAVE_INTERVAL_MS },
    ],
    ['where no save was measured, from the first step on', { stallMs: undefined, unsavedSteps: 1 }],
    ['where a save costs nothing, after some seconds', { stallMs: 0, unsavedSteps: 1 }],
    ['by an engine of a program that nobody knows: it says itself whether it can be asked', { engine: 'command' }],
    ['where the last request was written by a clock that is ahead', { askedFor: [slow.key], sinceAskedMs: -MINUTE_MS }],
  ])('%s', (_when, more) => {
    const { suspicions, askedFor } = aQuestion(more);
    expect(decideSave(aQuestion(more))).toEqual({
      kind: 'ask',
      about: suspicions.filter(({ key }) => !askedFor.includes(key)),
    });
  });

  it.each<[string, Partial<SaveQuestion>, string]>([
    ['where nothing is suspect', { suspicions: [] }, 'nothing new was seen'],
    [
      'twice for one suspicion, however long it lasts',
      { askedFor: [ill.key], sinceAskedMs: 1e9 },
      'nothing new was seen',
    ],
    [
      'for more suspicions than are kept',
      { askedFor: [...Array.from({ length: 15 }, (_, at) => `${at}`), 'all KernelDeadlock'] },
      'nothing new was seen',
    ],
    ['where the job keeps no checkpoints', { keepsCheckpoints: false }, 'the job keeps no checkpoints'],
    [
      'where its engine saves by its own count of steps alone: Megatron-LM',
      { engine: 'megatron-lm' },
      'the engine cannot be asked',
    ],
    ['nor TorchTitan', { engine: 'torchtitan' }, 'the engine cannot be asked'],
    ['while the save before has not come', { isOpen: true, sinceAskedMs: MINUTE_MS }, 'it was asked already'],
    ['where every step is saved', { unsavedSteps: 0 }, 'every step is saved'],
    ['of a kind that was asked for as a whole', { askedFor: ['all KernelDeadlock'] }, 'nothing new was seen'],
  ])('not %s', (_when, more, why) => {
    expect(decideSave(aQuestion(more))).toEqual({ kind: 'leave', why });
  });

  it('for a new suspicion, however many earlier ones were covered', () => {
    const askedFor = Array.from({ length: 16 }, (_, at) => `${at}`);
    expect(decideSave(aQuestion({ askedFor }))).toMatchObject({ kind: 'ask' });
  });

  it.each<[string, Partial<SaveQuestion>, number]>([
    [
      'for a second suspicion right after the first',
      { suspicions: [ill, slow], askedFor: [ill.key], sinceAskedMs: 4 * MINUTE_MS },
      360_000,
    ],
    ['where a checkpoint is two minutes old and a save holds training up for 5 s', { unsavedSteps: 12 }, 65_000],
    ['where no step was timed', { stepMs: undefined }, 185_000],
    ['where a checkpoint is ten minutes old and a save takes two minutes', { stallMs: 120_000 }, 251_000],
  ])('not yet %s, but then', (_when, more, inMs) => {
    const answer = decideSave(aQuestion(more));
    expect(answer.kind).toBe('later');
    expect(Math.abs((answer as { readonly inMs: number }).inMs - inMs)).toBeLessThan(15_000);
  });
});

/** Trains four GPUs on two nodes of two; half an hour ago it saved step 10. */
/** Without it, a rank that fails on a node with a fault is started on another one. */
const STAYS = { rules: [{ name: 'stays', action: 'Restart' as const }] };

function aTrainingWorld(spec: Partial<TrainingJobSpec> = {}): World {
  const job = aTrainingJob({ metadata: { finalizers: [FINALIZER] } });
  const labels = { ...aNode().labels, [NODE_LABELS.gpuType]: 'h100' };
  const world = new World({ ...job, spec: aPlannedJobSpec({ gpus: 4, ...spec }) }, { gpuCapacity: 2, labels }, [
    'node-a',
    'node-b',
    'node-c',
  ]);
  world.reportsSteps = true;
  turn(world, 20);
  world.apply({ kind: 'saveCheckpoint', pick: 10 });
  turn(world, 30, 60_000);
  return world;
}

function turn(world: World, times: number, ms = 1_000): void {
  for (let round = 0; round < times; round += 1) {
    world.reconcile();
    world.tick(ms);
  }
}

const newest = ({ job }: World): Attempt => job?.status?.attempts?.at(-1) as Attempt;
const nodeOf = ({ pods }: World): string => pods[0]?.nodeName ?? '';

describe('what is recorded of it', () => {
  const deadlock = { type: 'KernelDeadlock', status: 'True' };

  it('is a request with what was seen, once, also by who leads next; and that a checkpoint came of it', () => {
    const world = aTrainingWorld();
    expect(newest(world).earlySave).toBeUndefined();
    world.nodeConditions.set(nodeOf(world), [deadlock]);
    turn(world, 1);
    const asked = newest(world).earlySave;
    expect(asked).toMatchObject({
      request: 1,
      incarnation: 1,
      why: `Node ${nodeOf(world)} has condition KernelDeadlock.`,
    });
    expect(openSaveRequest(newest(world))).toEqual(asked);
    world.apply({ kind: 'crash', afterWrites: 0 });
    turn(world, 30);
    expect(newest(world).earlySave).toEqual(asked);
    const { step = 0 } = world.job?.status?.progress ?? {};
    world.apply({ kind: 'saveCheckpoint', pick: step });
    turn(world, 2);
    const saved = newest(world).earlySave;
    expect(saved).toMatchObject({ request: 1, outcome: 'Saved' });
    expect(openSaveRequest(newest(world))).toBeUndefined();
    turn(world, 60, 30_000);
    expect(newest(world).earlySave).toEqual(saved);
    expect(world.violations).toEqual([]);
  });

  it('is not that a checkpoint came of it whose bytes were found broken', () => {
    const world = aTrainingWorld();
    world.nodeConditions.set(nodeOf(world), [deadlock]);
    turn(world, 1);
    const { step = 0 } = world.job?.status?.progress ?? {};
    world.apply({ kind: 'saveCheckpoint', pick: step });
    const verification = aVerification({ verdict: 'incomplete' });
    world.checkpoints = world.checkpoints.map((one) => ({ ...one, status: { state: 'Complete', verification } }));
    turn(world, 2);
    expect(newest(world).earlySave?.outcome).toBeUndefined();
  });

  it('is that none came, after ten minutes, and nobody is asked again for it', () => {
    const world = aTrainingWorld();
    world.nodeConditions.set(nodeOf(world), [deadlock]);
    turn(world, 30, 30_000);
    expect(newest(world).earlySave).toMatchObject({ request: 1, outcome: 'NotSaved' });
    turn(world, 30, 30_000);
    expect(newest(world).earlySave).toMatchObject({ request: 1, outcome: 'NotSaved' });
  });

  it.each<[string, IncidentKind, boolean]>([
    ['is asked for where a rank is slow', 'SlowRank', true],
    ['is asked for where a link is slow', 'SlowLink', true],
    ['is not where the work is divided unevenly', 'Imbalance', false],
    ['is not where a loss is no number: it is not worth keeping', 'BadLoss', false],
    ['is not where the gang stands still: nobody can save', 'NetworkHang', false],
  ])('of incidents: %s', (_sentence, kind, isAsked) => {
    const world = aTrainingWorld();
    const noticedAt = world.now.toISOString();
    world.findings = [{ epoch: 1, incarnation: 1, kind, noticedAt, ranks: [3], message: 'It is so.', evidence: {} }];
    turn(world, 3);
    expect(newest(world).earlySave !== undefined).toBe(isAsked);
  });

  it('is asked for ahead of a node that will go away in half an hour, while the gang stays', () => {
    const world = aTrainingWorld();
    const beginsAtMs = world.now.getTime() + 1_800_000;
    world.comingNotices.set(nodeOf(world), { rule: 'maintenance', mark: 'annotation m', beginsAtMs });
    turn(world, 3);
    expect(newest(world)).toMatchObject({
      stage: 'Released',
      earlySave: { why: expect.stringMatching(/will go away: maintenance \(annotation m, from /) },
    });
  });

  it('is nothing where the gang leaves that node now: leaving saves', () => {
    const world = aTrainingWorld();
    const node = nodeOf(world);
    world.nodeConditions.set(node, [{ type: 'CSPMaintenance', status: 'True' }]);
    world.apply({ kind: 'announce', pick: ['node-a', 'node-b', 'node-c'].indexOf(node) });
    turn(world, 1);
    expect(newest(world)).toMatchObject({ stage: 'Stopping', outcome: 'Moved' });
    expect(newest(world).earlySave).toBeUndefined();
  });

  it('is nothing where the gang ends in the same look: suspended, or with the rank that is slow condemned', () => {
    const suspended = aTrainingWorld();
    suspended.nodeConditions.set(nodeOf(suspended), [deadlock]);
    suspended.apply({ kind: 'suspend' });
    turn(suspended, 3);
    const condemned = aTrainingWorld();
    condemned.nodeConditions.set(nodeOf(condemned), [deadlock]);
    condemned.verdicts = [{ epoch: 1, about: { kind: 'rank', rank: 3 }, message: 'Rank 3 is slow.' }];
    turn(condemned, 1);
    for (const world of [suspended, condemned]) {
      expect(world.job?.status?.attempts?.[0]?.outcome).toBeDefined();
      expect(world.job?.status?.attempts?.[0]?.earlySave).toBeUndefined();
    }
  });

  it('is nothing of a node that is not the gang’s', () => {
    const world = aTrainingWorld();
    const others = ['node-a', 'node-b', 'node-c'].filter(
      (node) => !world.pods.some(({ nodeName }) => nodeName === node),
    );
    for (const node of others) world.nodeConditions.set(node, [deadlock]);
    turn(world, 3);
    expect(newest(world).earlySave).toBeUndefined();
  });

  it.each([
    ['three of a kind are each known', 3, ['gpu-0 NvlinkWatch', 'gpu-1 NvlinkWatch', 'gpu-2 NvlinkWatch', ill.key]],
    [
      'a whole rack of a kind is known as one, which leaves room for what is seen later',
      18,
      ['all NvlinkWatch', ill.key],
    ],
  ])('of suspicions %s', (_sentence, count, keys) => {
    const alarmed = Array.from({ length: count }, (_, at) => ({
      key: `gpu-${at} NvlinkWatch`,
      kind: 'NvlinkWatch',
      says: 'N',
    }));
    expect(keysOf([...alarmed, ill])).toEqual(keys);
  });

  it.each([
    ['keeps what fits', 3, 3, ['0 K', '1 K', '2 K', ill.key]],
    ['drops past ones first where status has no room', 16, 2, ['0 K', '1 K', ill.key]],
    ['counts many present ones of a kind as one', 16, 16, ['all K', 'all KernelDeadlock']],
  ])('of covered suspicions %s', (_sentence, earlier, lasting, covered) => {
    const keys = Array.from({ length: earlier }, (_, at) => `${at} K`);
    const present = [...keys.slice(0, lasting).map((key) => ({ key, kind: 'K', says: 'K' })), ill];
    expect(coveredBy(keys, [ill], present)).toEqual(covered);
  });

  it.each([
    ['comes back within the day', 12, 1],
    ['comes back a day later', 25, 2],
  ])('is asked for once more only where what has gone away %s', (_when, hours, request) => {
    const world = aTrainingWorld();
    world.nodeConditions.set(nodeOf(world), [deadlock]);
    turn(world, 30, 30_000);
    world.nodeConditions.delete(nodeOf(world));
    turn(world, 2, (hours / 2) * 3_600_000);
    turn(world, 1);
    world.nodeConditions.set(nodeOf(world), [deadlock]);
    turn(world, 2);
    expect(newest(world)).toMatchObject({ stage: 'Released', earlySave: { request } });
  });

  it('is no other one for a rank that is slow again', () => {
    const world = aTrainingWorld();
    const slowNow = (): Finding => {
      const noticedAt = world.now.toISOString();
      return {
        epoch: 1,
        incarnation: 1,
        kind: 'SlowRank',
        noticedAt,
        ranks: [3],
        message: 'It is slow.',
        evidence: {},
      };
    };
    const first = slowNow();
    world.findings = [first];
    turn(world, 30, 30_000);
    world.findings = [{ ...first, overAt: world.now.toISOString() }];
    turn(world, 2);
    world.findings = [slowNow()];
    turn(world, 30, 30_000);
    expect(world.job?.status?.incidents?.map(({ id }) => id)).toContain('1.1-slowRank-r3.n2');
    expect(newest(world).earlySave).toMatchObject({ request: 1 });
  });

  it('is asked for again of ranks that were started again in their pods beside the same node', () => {
    const world = aTrainingWorld({ failurePolicy: STAYS });
    world.nodeConditions.set(nodeOf(world), [deadlock]);
    turn(world, 1);
    expect(newest(world).earlySave).toMatchObject({ request: 1, incarnation: 1 });
    world.apply({ kind: 'failRank', step: 0, pick: 0 });
    turn(world, 40, 60_000);
    expect(newest(world)).toMatchObject({ incarnation: 2, earlySave: { request: 2, incarnation: 2 } });
  });

  describe('once the ranks have ended before a save came', () => {
    const first = ({ job }: World): Attempt => job?.status?.attempts?.[0] as Attempt;
    const askedWorld = (spec: Partial<TrainingJobSpec> = {}): World => {
      const world = aTrainingWorld(spec);
      world.nodeConditions.set(nodeOf(world), [deadlock]);
      turn(world, 1);
      expect(newest(world).earlySave).toMatchObject({ request: 1 });
      expect(newest(world).earlySave?.outcome).toBeUndefined();
      return world;
    };

    it.each<[string, (world: World) => void, Partial<Attempt>]>([
      ['by a suspend', (world) => world.apply({ kind: 'suspend' }), { outcome: 'Suspended' }],
      ['by a cancel, which ends the job', (world) => world.apply({ kind: 'cancel' }), { outcome: 'Cancelled' }],
      [
        'by a failure that another epoch answers',
        (world) => world.apply({ kind: 'exit', code: 1, pick: 0 }),
        { outcome: 'Failed', answer: 'Restart' },
      ],
    ])('%s, none is waited for', (_how, end, ended) => {
      const world = askedWorld();
      end(world);
      turn(world, 15, 20_000);
      expect(first(world)).toMatchObject({
        stage: 'Ended',
        ...ended,
        earlySave: { request: 1, outcome: 'RanksEnded' },
      });
      const recorded = first(world).earlySave;
      turn(world, 5, 300_000);
      expect(first(world).earlySave).toEqual(recorded);
      expect(world.violations).toEqual([]);
    });

    it('what they saved because they were stopped is what was asked for', () => {
      const world = askedWorld();
      const { afterStep = 0 } = newest(world).earlySave ?? {};
      world.apply({ kind: 'suspend' });
      turn(world, 1);
      expect(first(world)).toMatchObject({ stage: 'Stopping', earlySave: { request: 1 } });
      world.apply({ kind: 'saveCheckpoint', pick: afterStep });
      turn(world, 15, 20_000);
      expect(first(world)).toMatchObject({ outcome: 'Suspended', earlySave: { outcome: 'Saved' } });
      expect(first(world).earlySave?.savedStep).toBeGreaterThanOrEqual(afterStep);
    });

    it('in pods that stay, the request of the ended run is over before the next run is asked', () => {
      const world = askedWorld({ failurePolicy: STAYS });
      world.apply({ kind: 'failRank', step: 0, pick: 0 });
      const seen: unknown[] = [];
      for (let round = 0; round < 40; round += 1) {
        turn(world, 1, 60_000);
        const { incarnation, earlySave } = newest(world);
        if (incarnation === 2 && earlySave?.incarnation === 1) seen.push(earlySave.outcome);
      }
      expect(new Set(seen)).toEqual(new Set(['RanksEnded']));
      expect(newest(world)).toMatchObject({ incarnation: 2, earlySave: { request: 2, incarnation: 2 } });
    });

    it('no event says that the engine could not save', () => {
      const world = askedWorld();
      world.apply({ kind: 'suspend' });
      turn(world, 15, 60_000);
      const { job, checkpoints, placements } = world;
      const events = job === undefined ? [] : jobEvents({ job, checkpoints, placements });
      expect(events.filter(({ type }) => type.startsWith('Save')).map(({ type }) => type)).toEqual(['SaveAsked']);
    });
  });

  it('is told as events, each once', () => {
    const world = aTrainingWorld();
    world.nodeConditions.set(nodeOf(world), [deadlock]);
    turn(world, 40, 30_000);
    const { job, checkpoints, placements } = world;
    const events = job === undefined ? [] : jobEvents({ job, checkpoints, placements });
    const recorded = events.filter(({ type }) => type === 'SaveAsked' || type === 'SaveMissed');
    expect(recorded.map(({ type, key }) => [type, key])).toEqual([
      ['SaveAsked', 'e1/SaveAsked/1'],
      ['SaveMissed', 'e1/SaveMissed/1'],
    ]);
  });
});
