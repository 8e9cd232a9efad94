import { aLayout } from '@coxswain/layout/testing';
import { TrainingJobSpec, type TrainingJobSpecInput } from '../training-job.ts';

/** The spec of a small reference-engine job on tp2 x dp2, with every default filled in. */
export function aJobSpec(overrides: Partial<TrainingJobSpecInput> = {}): TrainingJobSpec {
  return TrainingJobSpec.parse({
    engine: { name: 'reference', image: 'coxswain/engine-reference:dev' },
    model: { layers: 4, hiddenSize: 128, attentionHeads: 4, sequenceLength: 128 },
    training: { steps: 100, globalBatchSize: 8 },
    data: { claimName: 'corpus', path: 'corpus.txt' },
    layout: aLayout({ tensorParallelDegree: 2, dataParallelDegree: 2 }),
    checkpoint: { claimName: 'checkpoints', everySteps: 20 },
    ...overrides,
  });
}
