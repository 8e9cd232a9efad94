import { aLayout } from '@coxswain/layout/testing';
import type { EffectiveSpec } from '../effective-spec.ts';
import { TrainingJobSpec, type TrainingJobSpecInput } from '../training-job-spec.ts';

const SMALL_JOB: TrainingJobSpecInput = {
  engine: { name: 'reference', image: 'coxswain/engine-reference:dev' },
  model: { layers: 4, hiddenSize: 128, attentionHeads: 4, sequenceLength: 128 },
  training: { steps: 100, globalBatchSize: 8 },
  data: { claimName: 'corpus', path: 'corpus.txt' },
  layout: aLayout({ tensorParallelDegree: 2, dataParallelDegree: 2 }),
  checkpoint: { claimName: 'checkpoints', everySteps: 20 },
};

/** The spec of a small reference-engine job on tp2 x dp2, with every default filled in. */
export function aJobSpec(overrides: Partial<Omit<TrainingJobSpecInput, 'gpus'>> = {}): EffectiveSpec {
  const spec = TrainingJobSpec.parse({ ...SMALL_JOB, ...overrides });
  if (spec.layout === undefined) throw new Error('give the spec a layout, or use aPlannedJobSpec');
  return { ...spec, layout: spec.layout };
}

/** The same job, with 4 GPUs and no layout: the planner chooses. */
export function aPlannedJobSpec(overrides: Partial<Omit<TrainingJobSpecInput, 'layout'>> = {}): TrainingJobSpec {
  const { layout: _chosen, ...job } = SMALL_JOB;
  return TrainingJobSpec.parse({ ...job, gpus: 4, ...overrides });
}
