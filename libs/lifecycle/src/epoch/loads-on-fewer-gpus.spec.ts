/** Which users of elastic jobs are warned that a checkpoint does not load on fewer GPUs? */
import { type Checkpoint, findCondition, type TrainingJob } from '@coxswain/api-types';
import { aPlannedJobSpec } from '@coxswain/api-types/testing';
import type { ParallelLayout } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import { decide } from '../decide/decide.ts';
import { jobEvents } from '../decide/job-events.ts';
import { aCheckpoint } from '../testing/index.ts';
import { anAttempt, aRunningJob, EARLIER, NOW } from '../testing/jobs.ts';

const layout = aLayout({ tensorParallelDegree: 2, dataParallelDegree: 2 });
type Contents = NonNullable<NonNullable<Checkpoint['status']>['contents']>;

/** Saved at that step in that format; `contents`: what its files say. */
const saved =
  (step: number, format: string, contents?: Partial<Contents>) =>
  (job: TrainingJob): Checkpoint => {
    const checkpoint = aCheckpoint(job, { spec: { step, format, layout } });
    const read = contents === undefined ? {} : { contents: contents as Contents };
    const metadata = { ...checkpoint.metadata, name: `save-${step}`, creationTimestamp: EARLIER };
    return { ...checkpoint, metadata, status: { state: 'Complete', ...read } };
  };

/** The condition, and the warning Events, of a job on four GPUs. */
function found(
  saves: readonly ((job: TrainingJob) => Checkpoint)[],
  minGpus: number | null = 2,
  running: ParallelLayout = layout,
) {
  const seen = aRunningJob({ status: { attempts: [anAttempt({ layout: running, runningAt: EARLIER })] } });
  const job = { ...seen.job, spec: aPlannedJobSpec({ gpus: 4, ...(minGpus === null ? {} : { minGpus }) }) };
  const checkpoints = saves.map((save) => save(job));
  const { status } = decide({ ...seen, job, checkpoints }, NOW);
  const events = jobEvents({ job: { ...job, status }, checkpoints, placements: [] });
  const { reason, message } = findCondition(status.conditions, 'LoadsOnFewerGpus') ?? {};
  return { reason, message, warnings: events.filter(({ type }) => type === 'ShrinkBlocked').length };
}

const bound = { optimizerSharding: 'dp_reshardable', degrees: { tensorParallelDegree: 2, dataParallelDegree: 2 } };
const free = { ...bound, optimizerSharding: 'fully_reshardable' };
const zero = { optimizerSharding: 'zero2', degrees: { dataParallelDegree: 2 } };

describe('an elastic job whose newest checkpoint', () => {
  it.each<[what: string, saves: Parameters<typeof found>[0], reason: string, message: RegExp]>([
    [
      'is dp_reshardable is warned to save one fully_reshardable first',
      [saved(20, 'torch_dist', bound)],
      'SomeLayoutsDoNotLoad',
      /^Checkpoint save-20 \(step 20\) loads as tp2 on 2 GPUs, and does not load as dp2 on 2 GPUs: it was saved .*dp_reshardable.* save with layout\.checkpointPolicy\.optimizerReshard full before they change\. If the planner chooses such a layout/,
    ],
    [
      'is dp_reshardable learns of an older one that loads',
      [saved(20, 'torch_dist', bound), saved(10, 'torch_dist', free)],
      'SomeLayoutsDoNotLoad',
      / Checkpoint save-10 \(step 10\) loads there: spec\.resumeFrom can name it\.$/,
    ],
    [
      'is fully_reshardable is not warned',
      [saved(20, 'torch_dist', free), saved(10, 'torch_dist', bound)],
      'CheckpointLoads',
      /^Checkpoint save-20 \(step 20\) loads on the layouts that the job can shrink to: tp2 on 2 GPUs, dp2 on 2 GPUs\.$/,
    ],
    [
      'is of DeepSpeed with tensor parallelism and was not converted is warned of every layout',
      [saved(20, 'deepspeed', zero)],
      'CheckpointDoesNotLoad',
      /does not load as tp2 on 2 GPUs, dp2 on 2 GPUs: it was saved as deepspeed .* or convert it/,
    ],
    [
      'is of the Trainer is warned of every layout',
      [saved(20, 'hugging-face', { worldSize: 4 })],
      'CheckpointDoesNotLoad',
      /^Checkpoint save-20 \(step 20\) does not load as .* If GPUs are lost, the job waits until they are back\.$/,
    ],
    ['is of PyTorch DCP is not warned', [saved(20, 'dcp')], 'CheckpointLoads', /loads on the layouts/],
  ])('%s', (_what, saves, reason, message) => {
    const { warnings, ...condition } = found(saves);
    expect(condition).toEqual({ reason, message: expect.stringMatching(message) as string });
    expect(warnings).toBe(reason === 'CheckpointLoads' ? 0 : 1);
  });
});

it.each<[what: string, saves: Parameters<typeof found>[0], minGpus: number | null]>([
  ['that has saved nothing', [], 2],
  ['that does not shrink', [saved(20, 'hugging-face')], null],
  ['that shrinks to no smaller layout', [saved(20, 'hugging-face')], 3],
])('a job %s has no such condition', (_what, saves, minGpus) => {
  expect(found(saves, minGpus)).toEqual({ warnings: 0 });
});

describe('an elastic job of DeepSpeed with ZeRO', () => {
  const dp4 = aLayout({ dataParallelDegree: 4 });
  const save = (job: TrainingJob): Checkpoint => {
    const one = saved(20, 'deepspeed', { optimizerSharding: 'zero2', degrees: { dataParallelDegree: 4 } })(job);
    return { ...one, spec: { ...one.spec, layout: dp4, bytes: 3.5e9 } };
  };

  it('learns that its save is converted before it shrinks, and needs to do nothing', () => {
    expect(found([save], 2, dp4)).toEqual({
      reason: 'CheckpointLoads',
      message:
        'Checkpoint save-20 (step 20) needs conversion: 3.3 GiB, about 9.5 s, before it loads as dp2 on 2 GPUs. A pod converts it before GPUs are held.',
      warnings: 0,
    });
  });

  it('learns the same while it trains from a converted save', () => {
    const universal: ParallelLayout = { ...dp4, checkpointPolicy: { format: 'deepspeed-universal' } };
    expect(found([save], 2, universal).message).toMatch(/ needs conversion: 3\.3 GiB/);
  });
});
