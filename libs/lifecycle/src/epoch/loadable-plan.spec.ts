import { type Checkpoint, type JobPlan, NODE_LABELS } from '@coxswain/api-types';
import { aPlannedJobSpec, aTrainingJob } from '@coxswain/api-types/testing';
import { aCheckpoint } from '@coxswain/checkpoint/testing';
import { aLayout } from '@coxswain/layout/testing';
import { factsOf } from '../observation/facts.ts';
import type { ObservedPlanning } from '../observation/observed.ts';
import { recordOf } from '../record/job-record.ts';
import { aCapacity, aNode, observe, plannedAnswer } from '../testing/index.ts';
import { planningOf } from './planning.ts';

const NOW = new Date('2026-01-01T01:00:00Z');

/** A plan for all four GPUs of the job, which are not free. */
const before: JobPlan = {
  chosenBy: 'Planner',
  gpus: 4,
  fabric: '4 h100',
  layout: aLayout({ dataParallelDegree: 4 }),
  plannerVersion: '1',
  plannedAt: '2026-01-01T00:00:00Z',
};

/** The plan of an elastic job that may ask for two GPUs in place of its four, once the planner has a layout for two. */
function planOnTwo(checkpoints: readonly Checkpoint[]): JobPlan | undefined {
  const spec = aPlannedJobSpec({ gpus: 4, minGpus: 2 });
  const job = { ...aTrainingJob(), spec, status: { epoch: 0, restarts: { total: 0, charged: 0 }, plan: before } };
  const labels = { ...aNode().labels, [NODE_LABELS.gpuType]: 'h100' };
  const nodes = [aNode({ name: 'node-1', gpuCapacity: 2, labels })];
  const elapsedMs = new Map([['e0/short-of-4-gpus', 120_000]]);
  const planned = (planning?: ObservedPlanning) => {
    const facts = factsOf(
      observe({ job, capacity: () => aCapacity(nodes), elapsedMs, checkpoints, ...(planning && { planning }) }),
    );
    return planningOf(recordOf(job), facts, NOW);
  };
  const asked = planned();
  if (asked.kind !== 'asking') throw new Error(`The planner is not asked: ${JSON.stringify(asked)}.`);
  const { question } = asked;
  const taken = planned({ kind: 'answered', key: question.key, answer: plannedAnswer(question) });
  return taken.kind === 'planned' ? taken.plan : undefined;
}

const saved = aCheckpoint({ format: 'hugging-face', layout: aLayout({ dataParallelDegree: 4 }) });
/** The same with what its files say, where nothing of it needs four ranks. */
const read = (worldSize: number): Checkpoint =>
  ({ ...saved, status: { state: 'Complete', contents: { worldSize } } }) as unknown as Checkpoint;

/** Of DeepSpeed, on four ranks. */
const zero = aCheckpoint({ format: 'deepspeed', layout: aLayout({ dataParallelDegree: 4 }) });

describe('an elastic job that is short of GPUs', () => {
  it.each<[what: string, checkpoints: readonly Checkpoint[], want: Partial<JobPlan>]>([
    ['goes on with fewer, if nothing was saved', [], { gpus: 2 }],
    ['goes on with fewer, if its checkpoint can be loaded there', [read(2)], { gpus: 2 }],
    ['goes on with fewer, if a pod can convert its checkpoint', [zero], { gpus: 2 }],
    ['keeps its plan, if its checkpoint cannot be loaded on fewer', [saved], { gpus: 4, noLayoutFor: 2 }],
    ['keeps its plan, if the files of its checkpoint say so', [read(4)], { gpus: 4, noLayoutFor: 2 }],
  ])('%s', (_what, checkpoints, want) => {
    expect(planOnTwo(checkpoints)).toMatchObject(want);
  });
});

it('is planned for the GPUs that saved its checkpoint again, if the conversion for fewer failed', () => {
  const { name, uid, namespace = '' } = zero.metadata;
  const failedAt = new Date(NOW.getTime() - 1_000).toISOString();
  const conversion = { orderedAt: failedAt, failedAt, problem: 'the claim is full' };
  const { jobName, jobUid, step } = zero.spec;
  const failed: Checkpoint = {
    ...zero,
    metadata: { ...zero.metadata, name: `${name}-universal`, uid: 'converted', namespace },
    spec: {
      ...{ ...zero.spec, jobName: '', epoch: 0, path: `${zero.spec.path}.coxswain-converted/universal` },
      convertedFrom: { checkpoint: name, uid, jobName, jobUid, step, kind: 'DeepSpeedUniversal' },
    },
    status: { state: 'Unverified', conversion },
  };
  const plan: JobPlan = { ...before, gpus: 2, layout: aLayout({ dataParallelDegree: 2 }), forEpoch: 1 };
  const status = { epoch: 0, restarts: { total: 0, charged: 0 }, plan };
  const job = { ...aTrainingJob(), spec: aPlannedJobSpec({ gpus: 4, minGpus: 2 }), status };
  const labels = { ...aNode().labels, [NODE_LABELS.gpuType]: 'h100' };
  const nodes = [aNode({ name: 'node-1', gpuCapacity: 2, labels })];
  const planningFor = (checkpoints: readonly Checkpoint[]) =>
    planningOf(recordOf(job), factsOf(observe({ job, capacity: () => aCapacity(nodes), checkpoints })), NOW);
  expect(planningFor([zero])).toMatchObject({ kind: 'planned', plan: { gpus: 2 } });
  expect(planningFor([zero, failed])).toMatchObject({ kind: 'asking', question: { about: { gpus: 4 } } });
});
