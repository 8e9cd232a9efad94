import type { CheckpointRecord, Job, JobEvent, RankPlace, StepPoint } from '../rest.ts';
import type { Attempt } from '../attempt.ts';
import type { Incident } from '../incident.ts';
import type { JobFailure } from '../job-failure.ts';
import type { TrainingJobSpecInput } from '../training-job-spec.ts';
import { stepsOf } from '../training-spec.ts';
import { aJobSpec } from './spec.ts';

const AT = '2026-01-01T00:00:00.000Z';

/** A running job as the API answers it: attempt 1, nothing reported yet. */
export function aJob(
  overrides: Partial<Omit<Job, 'spec'>> & { readonly spec?: Partial<Omit<TrainingJobSpecInput, 'gpus'>> } = {},
): Job {
  const spec = aJobSpec(overrides.spec);
  return {
    id: '00000000-0000-4000-8000-000000000001',
    project: 'research',
    cluster: 'local',
    namespace: 'research',
    name: 'tiny-gpt',
    labels: {},
    owner: null,
    uid: '3f1c2b9e-0000-4000-8000-000000000001',
    gpus: 4,
    totalSteps: stepsOf(spec) ?? null,
    layout: spec.layout,
    plan: null,
    stepTime: null,
    state: 'Running',
    summary: 'Training on 4 GPUs.',
    applyFailure: null,
    epoch: 1,
    restarts: { total: 0, charged: 0 },
    progress: null,
    checkpoint: null,
    attempts: [],
    conditions: [],
    jobsBefore: null,
    lastFailure: null,
    whyNotTraining: null,
    version: 1,
    specVersion: 1,
    createdAt: AT,
    updatedAt: AT,
    finishedAt: null,
    ...overrides,
    spec,
  };
}

/** A Python exception of rank 1 that ended the job in attempt 3. */
export function aJobFailure(overrides: Partial<JobFailure> = {}): JobFailure {
  return {
    attempt: '3',
    at: AT,
    isFinal: true,
    verdict: 'Rank 1 on node gpu-b exited with code 1: ValueError: planted.',
    reason: 'EngineFailed',
    rank: 1,
    pod: 'tiny-gpt-3f1c2b9e-e3-0',
    node: 'gpu-b',
    exitCode: 1,
    signal: null,
    class: 'PythonException',
    blame: 'program',
    lastLines: ['Traceback (most recent call last):', '  File "train.py", line 3, in main', 'ValueError: planted'],
    answer: 'The job ended because its restarts are spent.',
    nextAttemptAt: null,
    advice: 'Read the traceback.',
    ...overrides,
  };
}

export function anAttempt(overrides: Partial<Attempt> = {}): Attempt {
  return {
    epoch: 1,
    stage: 'Released',
    placement: 'tiny-gpt-3f1c2b9e-e1',
    layout: { tensorParallelDegree: 2, pipelineParallelDegree: 1, dataParallelDegree: 2 },
    startedAt: AT,
    ...overrides,
  };
}

export function aJobEvent(overrides: Partial<JobEvent> = {}): JobEvent {
  return {
    id: 1,
    type: 'Submitted',
    severity: 'info',
    epoch: null,
    message: 'The job was submitted.',
    at: AT,
    ...overrides,
  };
}

/** A step of attempt 1 that took 10 ms; its loss falls with the step. */
export function aStepPoint(overrides: Partial<StepPoint> = {}): StepPoint {
  const step = overrides.step ?? 1;
  return {
    epoch: 1,
    step,
    loss: 5 - step / 100_000,
    tokens: 1024,
    tokensPerSecond: 102_400,
    stepTimeMs: 10,
    gradNorm: null,
    learningRate: null,
    at: AT,
    bucket: null,
    ...overrides,
  };
}

/** A rank of a gang with two ranks on a node and all nodes in one NVLink domain. */
export function aRankPlace(overrides: Partial<RankPlace> = {}): RankPlace {
  const rank = overrides.rank ?? 0;
  const podIndex = Math.floor(rank / 2);
  return {
    rank,
    podIndex,
    pod: `tiny-gpt-3f1c2b9e-e1-${podIndex}`,
    node: `node-${podIndex}`,
    tensorIndex: rank % 2,
    contextIndex: 0,
    dataIndex: podIndex,
    pipelineIndex: 0,
    nvlinkDomain: 'nvl-a',
    island: 'ib-0',
    nicType: 'infiniband',
    lastStep: 10,
    stepTimeMs: 100,
    ...overrides,
  };
}

export function aCheckpointRecord(overrides: Partial<CheckpointRecord> = {}): CheckpointRecord {
  return {
    name: 'tiny-gpt-3f1c2b9e-e1-s20',
    uid: '3f1c2b9e-0000-4000-8000-000000000002',
    namespace: 'research',
    jobId: '00000000-0000-4000-8000-000000000001',
    jobName: 'tiny-gpt',
    jobUid: '3f1c2b9e-0000-4000-8000-000000000001',
    epoch: 1,
    step: 20,
    claimName: 'checkpoints',
    path: 'tiny-gpt/e1/step-20',
    layout: { tensorParallelDegree: 2, pipelineParallelDegree: 1, dataParallelDegree: 2 },
    format: 'torch_dcp',
    bytes: 1_572_864,
    files: 5,
    manifestSha256: '0'.repeat(64),
    location: 'checkpoints/tiny-gpt/e1/step-20',
    state: 'Complete',
    isSuspect: false,
    message: null,
    verification: null,
    contents: null,
    progress: null,
    pin: null,
    retention: null,
    isBeingDeleted: false,
    isAbsent: false,
    createdAt: AT,
    deletedAt: null,
    ...overrides,
  };
}

/** A crash that was answered by a restart. */
export function anIncident(changes: Partial<Incident> = {}): Incident {
  return {
    id: '1.1',
    kind: 'Crash',
    epoch: 1,
    incarnation: 1,
    noticedAt: '2026-01-01T00:00:00Z',
    message: 'Rank 1 exited.',
    gpus: 4,
    action: 'RestartedInPods',
    ...changes,
  };
}
