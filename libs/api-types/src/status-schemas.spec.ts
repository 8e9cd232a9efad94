/** What the operator writes into the cluster: bounds of status, placement and checkpoint, so that no message outgrows an object. */
import { aLayout } from '@coxswain/layout/testing';
import type { z } from 'zod';
import { ATTEMPT_REASONS } from './attempt-reasons.ts';
import { Attempt, AttemptPrediction, MAX_ATTEMPTS_IN_STATUS } from './attempt.ts';
import { CheckpointResourceSpec, CheckpointResourceStatus } from './checkpoint.ts';
import { Condition } from './conditions.ts';
import { JobPlan } from './job-plan.ts';
import { PlacementSpec, ranksOfPod } from './placement.ts';
import { anAttempt } from './testing/index.ts';
import { type Bound, letters, listOf, refusedFields, withField } from './testing/one-field.ts';
import { TrainingJobStatus } from './training-job.ts';

const AT = '2026-01-01T00:00:00Z';
const HUGE = Number.MAX_SAFE_INTEGER;
const FAULT = { node: 'n', kind: 'FileUnreadable', path: 'p', errno: 'EIO' } as const;
const PASSED_OVER = { checkpoint: 'c', step: 2, path: 'p', manifestSha256: 'a'.repeat(64), files: ['p'], why: 'w' };
const ATTEMPT = anAttempt({
  resumedFrom: { checkpoint: 'c', step: 1 },
  checkpointFaults: [FAULT],
  passedOver: [PASSED_OVER],
});
const EVIDENCE = { ...FAULT, epoch: 1 };
const PREDICTION = { stepMs: 1, peakBytes: 1, gpuType: 'H100', microBatchSize: 1, plannerVersion: '1' };
const CONDITION = {
  type: 'Running',
  status: 'True',
  reason: 'GangRunning',
  message: 'runs',
  observedGeneration: 1,
  lastTransitionTime: AT,
};
const RUNNER_UP = { layout: 'tp2', microBatchSize: 1, predictedStepMs: 1, predictedPeakBytes: 1 };
const PLAN = { chosenBy: 'Planner', gpus: 4, fabric: 'f', runnersUp: [RUNNER_UP], plannerVersion: '1', plannedAt: AT };
const PLACEMENT = {
  jobName: 'a',
  jobUid: 'u',
  epoch: 1,
  layout: aLayout(),
  worldSize: 1,
  ranksPerPod: 1,
  nodes: ['n'],
  resume: { checkpoint: 'c', step: 1, path: 'p', manifestSha256: 'a'.repeat(64) },
};
const CHECKPOINT = {
  jobName: 'a',
  jobUid: 'u',
  epoch: 1,
  step: 1,
  claimName: 'c',
  path: 'p',
  layout: aLayout(),
  format: 'torch_dcp',
  bytes: 1,
  files: 1,
  manifestSha256: '0'.repeat(64),
};
const FINDING = { kind: 'damaged', message: 'm' };
const VERIFICATION = { level: 'V1', verdict: 'damaged', at: AT, by: 'Launcher', readBytes: 1, findings: [FINDING] };
const CONTENTS = {
  tensors: 1,
  chunks: 1,
  objects: 0,
  bytes: 4,
  dtypes: { float32: 1 },
  kinds: { moment: { tensors: 1, bytes: 4 } },
  holds: {},
  isResumable: true,
  geometry: '0'.repeat(64),
};
const numbersOf = (count: number): unknown =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, index]));
const STATUS = { attempts: [ATTEMPT], conditions: [CONDITION], progress: { step: 1, reportedAt: AT } };

const tables: readonly (readonly [string, z.ZodType, unknown, readonly Bound[]])[] = [
  [
    'an attempt',
    Attempt,
    ATTEMPT,
    [
      ['epoch', 'at least 0', 0, -1],
      ['epoch', 'an exact number', HUGE, HUGE + 1],
      ['stage', 'one of four', 'Ended', 'Gone'],
      ['placement', 'at most 253 characters', letters(253), letters(254)],
      ['layout', 'not left out', {}, undefined],
      ['resumedFrom.checkpoint', 'at most 253 characters', letters(253), letters(254)],
      ['resumedFrom.step', 'at least 0', 0, -1],
      ['placedWhere', 'at most 512 characters', letters(512), letters(513)],
      ['startedAt', 'a text', AT, 0],
      ['outcome', 'one of four', 'Cancelled', 'Lost'],
      ['reason', 'one that is declared', 'NodeLost', 'Bored'],
      ['message', 'at most 8192 characters', letters(8192), letters(8193)],
      ['answer', 'a restart or none', 'GiveUp', 'Maybe'],
      ['checkpointFaults', 'at most 8', listOf(8, FAULT), listOf(9, FAULT)],
      ['checkpointFaults.0.kind', 'one of three', 'MountBroken', 'Lost'],
      ['checkpointFaults.0.path', 'at most 256 characters', letters(256), letters(257)],
      ['checkpointFaults.0.node', 'at most 253 characters', letters(253), letters(254)],
      ['passedOver', 'at most 4', listOf(4, PASSED_OVER), listOf(5, PASSED_OVER)],
      ['passedOver.0.files', 'at most 4', listOf(4, 'p'), listOf(5, 'p')],
      ['passedOver.0.why', 'at most 512 characters', letters(512), letters(513)],
      ['verifiedCheckpoint', 'at most 253 characters', letters(253), letters(254)],
      ['charged', 'true or false', false, 0],
      ['lastStep', 'whole', 3, 3.5],
    ],
  ],
  [
    'a prediction of an attempt',
    AttemptPrediction,
    PREDICTION,
    [
      ['stepMs', 'at least 0', 0, -0.1],
      ['stepMs', 'finite', 1e12, Infinity],
      ['peakBytes', 'whole', 5, 5.5],
      ['gpuType', 'at most 128 characters', letters(128), letters(129)],
      ['microBatchSize', 'at least 0', 0, -1],
      ['plannerVersion', 'at most 64 characters', letters(64), letters(65)],
    ],
  ],
  [
    'a condition',
    Condition,
    CONDITION,
    [
      ['type', 'at most 64 characters', letters(64), letters(65)],
      ['status', 'one of three', 'Unknown', 'true'],
      ['reason', 'not empty', 'R', ''],
      ['reason', 'at most 128 characters', letters(128), letters(129)],
      ['message', 'at most 32768 characters', letters(32_768), letters(32_769)],
      ['observedGeneration', 'at least 0', 0, -1],
      ['lastTransitionTime', 'not left out', AT, undefined],
    ],
  ],
  [
    'a plan of a job',
    JobPlan,
    PLAN,
    [
      ['chosenBy', 'the planner or the user', 'User', 'Operator'],
      ['gpus', 'at least 0', 0, -1],
      ['fabric', 'at most 1024 characters', letters(1024), letters(1025)],
      ['predictedStepMs', 'at least 0', 0, -1],
      ['predictedStepLowMs', 'at least 0', 0, -1],
      ['predictedStepHighMs', 'at least 0', 0, -1],
      ['predictedPeakBytes', 'whole', 1, 1.5],
      ['gpuType', 'at most 128 characters', letters(128), letters(129)],
      ['verdict', 'one of the planner’s', 'doesNotFit', 'maybe'],
      ['runnersUp', 'at most 5', listOf(5, RUNNER_UP), listOf(6, RUNNER_UP)],
      ['runnersUp.0.layout', 'at most 256 characters', letters(256), letters(257)],
      ['errorStatement', 'at most 1024 characters', letters(1024), letters(1025)],
      ['refusal', 'at most 2048 characters', letters(2048), letters(2049)],
      ['plannerVersion', 'at most 64 characters', letters(64), letters(65)],
      ['plannedAt', 'not left out', AT, undefined],
    ],
  ],
  [
    'the status of a job',
    TrainingJobStatus,
    STATUS,
    [
      ['observedGeneration', 'at least 0', 0, -1],
      ['state', 'one that is declared', 'Restarting', 'Deleted'],
      ['summary', 'at most 1024 characters', letters(1024), letters(1025)],
      ['epoch', 'at least 0', 0, -1],
      ['restarts', 'two counts', { total: 2, charged: 1 }, 2],
      ['progress.step', 'at least 0', 0, -1],
      ['progress.reportedAt', 'not left out', AT, undefined],
      ['checkpoint', 'a name of at most 253', { name: letters(253), step: 0 }, 'newest'],
      ['resumeFrom', 'a request and its epoch', { from: 'scratch', epoch: 2 }, 'scratch'],
      ['attempts', 'at most 20', listOf(MAX_ATTEMPTS_IN_STATUS, ATTEMPT), listOf(21, ATTEMPT)],
      ['attempts.0.message', 'at most 8192 characters', letters(8192), letters(8193)],
      ['conditions', 'at most 16', listOf(16, CONDITION), listOf(17, CONDITION)],
      ['conditions.0.reason', 'not empty', 'R', ''],
    ],
  ],
  [
    'a placement',
    PlacementSpec,
    PLACEMENT,
    [
      ['jobName', 'at most 63 characters', letters(63), letters(64)],
      ['jobUid', 'at most 64 characters', letters(64), letters(65)],
      ['epoch', 'at least 1', 1, 0],
      ['epoch', 'an exact number', HUGE, HUGE + 1],
      ['microBatchSize', 'at least 1', 1, 0],
      ['microBatchSize', 'at most 65536', 65_536, 65_537],
      ['worldSize', 'at least 1', 1, 0],
      ['worldSize', 'at most 32768', 32_768, 32_769],
      ['ranksPerPod', 'at least 1', 1, 0],
      ['ranksPerPod', 'at most 16', 16, 17],
      ['nodes', 'at least one', ['n'], []],
      ['nodes', 'at most 32768', listOf(32_768, 'n'), listOf(32_769, 'n')],
      ['nodes.0', 'at most 253 characters', letters(253), letters(254)],
      ['resume.checkpoint', 'at most 253 characters', letters(253), letters(254)],
      ['resume.step', 'at least 0', 0, -1],
      ['resume.path', 'at most 1024 characters', letters(1024), letters(1025)],
      ['resume.manifestSha256', '64 digits', 'f'.repeat(64), 'f'.repeat(63)],
      ['resume.manifestSha256', 'hexadecimal', '0'.repeat(64), 'g'.repeat(64)],
      ['resume.epoch', 'not known', undefined, 1],
      ['pods', 'not known', undefined, 1],
    ],
  ],
  [
    'a checkpoint',
    CheckpointResourceSpec,
    CHECKPOINT,
    [
      ['jobName', 'at most 63 characters', letters(63), letters(64)],
      ['jobUid', 'at most 64 characters', letters(64), letters(65)],
      ['epoch', 'at least 0', 0, -1],
      ['step', 'at least 0', 0, -1],
      ['claimName', 'at most 63 characters', letters(63), letters(64)],
      ['path', 'at most 1024 characters', letters(1024), letters(1025)],
      ['format', 'at most 64 characters', letters(64), letters(65)],
      ['bytes', 'an exact number', HUGE, HUGE + 1],
      ['files', 'whole', 5, 5.5],
      ['manifestSha256', '64 digits', 'f'.repeat(64), 'f'.repeat(63)],
      ['manifestSha256', 'not longer', '0'.repeat(64), '0'.repeat(65)],
      ['manifestSha256', 'in small letters', 'a'.repeat(64), 'A'.repeat(64)],
      ['size', 'not known', undefined, 1],
    ],
  ],
  [
    'the status of a checkpoint',
    CheckpointResourceStatus,
    {
      state: 'Damaged',
      condemnation: { by: 'TwoNodes', evidence: [EVIDENCE, EVIDENCE] },
      suspect: { reason: 'Unreadable', evidence: [EVIDENCE] },
      verification: VERIFICATION,
      contents: CONTENTS,
    },
    [
      ['verification', 'not needed', undefined, 1],
      ['verification.level', 'a level', 'V3', 'V4'],
      ['verification.verdict', 'sound or what a finding is', 'sound', 'good'],
      ['verification.by', 'a launcher or a worker', 'Worker', 'User'],
      ['verification.findings', 'at most 8', listOf(8, FINDING), listOf(9, FINDING)],
      ['verification.findings.0.message', 'at most 256 characters', letters(256), letters(257)],
      ['contents', 'not needed', undefined, 1],
      ['contents.dtypes', 'at most 16 names', numbersOf(16), numbersOf(17)],
      ['contents.degrees', 'at most 16 names', numbersOf(16), numbersOf(17)],
      ['contents.geometry', 'a SHA-256', 'a'.repeat(64), 'a'.repeat(63)],
      ['contents.holds.optimizer', 'unknown, or yes or no', undefined, 'maybe'],
      ['contents.kinds.moment.bytes', 'an exact number', HUGE, HUGE + 1],
      ['state', 'complete or damaged', 'Damaged', 'Gone'],
      ['message', 'at most 4096 characters', letters(4096), letters(4097)],
      ['condemnation', 'not needed', undefined, 1],
      ['condemnation.by', 'by content or by two nodes', 'Content', 'Rumour'],
      ['condemnation.evidence', 'never empty', [EVIDENCE], []],
      ['suspect', 'not needed', undefined, 1],
      ['suspect.reason', 'one of four', 'EngineRefused', 'Rumour'],
      ['suspect.evidence', 'empty where an engine refused it', [], undefined],
      ['suspect.evidence', 'at most 8', listOf(8, EVIDENCE), listOf(9, EVIDENCE)],
      ['condemnation.evidence', 'at most 8', listOf(8, EVIDENCE), listOf(9, EVIDENCE)],
    ],
  ],
];

describe.each(tables)('of %s', (_what, schema, whole, bounds) => {
  it.each(bounds)('%s is %s', (field, _rule, kept, broken) => {
    expect(refusedFields(schema, withField(whole, field, kept))).toEqual([]);
    expect(refusedFields(schema, withField(whole, field, broken))).toEqual([field]);
  });
});

describe('a status', () => {
  it('of a job that was just made counts from nothing', () => {
    expect(TrainingJobStatus.parse({})).toEqual({ epoch: 0, restarts: { total: 0, charged: 0 } });
  });
  it('from a later operator is read without what this one does not know', () => {
    expect(TrainingJobStatus.parse({ epoch: 2, mood: 'good' })).toEqual({
      epoch: 2,
      restarts: { total: 0, charged: 0 },
    });
  });
});

describe('reasons of a failed attempt', () => {
  it.each<[keyof typeof ATTEMPT_REASONS, boolean]>([
    ['EngineFailed', true],
    ['DoNotRestart', true],
    ['LauncherFailed', true],
    ['PodLost', true],
    ['PodNeverRan', false],
    ['NodeLost', false],
    ['Evicted', false],
    ['NotScheduled', false],
    ['RendezvousPortLost', false],
    ['CheckpointUnreadable', false],
    ['CheckpointIoError', false],
    ['PodsRefused', false],
    ['PlacementLost', false],
    ['NameConflict', false],
    ['SuspendRequested', false],
    ['CancelRequested', false],
  ])('%s counts against the restarts: %s', (reason, charged) => {
    expect(ATTEMPT_REASONS[reason].charged).toBe(charged);
    expect(ATTEMPT_REASONS[reason].meaning).toMatch(/^[A-Za-z].*\.$/);
  });
});

describe('ranks of a pod', () => {
  it.each<[string, { worldSize: number; ranksPerPod: number; podIndex: number }, readonly number[]]>([
    ['the first pod holds the first ranks', { worldSize: 8, ranksPerPod: 4, podIndex: 0 }, [0, 1, 2, 3]],
    ['the second goes on where the first ended', { worldSize: 8, ranksPerPod: 4, podIndex: 1 }, [4, 5, 6, 7]],
    ['the last holds what is left', { worldSize: 6, ranksPerPod: 4, podIndex: 1 }, [4, 5]],
    ['a pod beyond the last holds none', { worldSize: 6, ranksPerPod: 4, podIndex: 2 }, []],
    ['one rank per pod is its index', { worldSize: 3, ranksPerPod: 1, podIndex: 2 }, [2]],
  ])('%s', (_sentence, { podIndex, ...sizes }, ranks) => {
    expect(ranksOfPod(PlacementSpec.parse({ ...PLACEMENT, ...sizes }), podIndex)).toEqual(ranks);
  });
});
