import type { TrainingJobSpec } from '@coxswain/api-types';
import { layoutWithOptions, modelOfJob } from '@coxswain/engines';
import { type LoraSpec, type ModelShape, ParallelLayout, type SequencePacking } from '@coxswain/layout';
import type { PinnedAxes } from '@coxswain/planner';
import { takesDegreesOnly } from './engine-offers.ts';

/** What a planner has to know of a job and its engine; plain data in the planner's words. */
export interface PlannerView {
  readonly modelShape: ModelShape;
  readonly sequenceLength: number;
  readonly globalBatchSize: number;
  readonly precision: 'fp32' | 'bf16';
  readonly gradientPrecision?: 'fp32' | 'bf16';
  readonly lora?: LoraSpec;
  readonly packing?: SequencePacking;
  /** Name of the engine among the software stacks of the calibration. */
  readonly stack: string;
  /** What the engine does in one way only, and what the user chose. */
  readonly pinned: PinnedAxes;
}

/**
 * The job as the planner sees it; undefined where it says too little, or names a model that is not known. `reference` trains in 1F1B
 * order with ZeRO stage 1. A program of the user's own is taken to do the same, as nothing else is known of it. Other engines are offered what their
 * adapters take (`engine-offers.ts`).
 */
export function plannerView({
  engine,
  model,
  training,
}: Pick<TrainingJobSpec, 'engine' | 'model' | 'training'>): PlannerView | undefined {
  if (model === undefined || training === undefined) return undefined;
  const known = modelOfJob(model);
  if (known === undefined) return undefined;
  const { microBatchSize } = training;
  // An option of the engine decides the format of gradients before there is a layout.
  const { gradientPrecision } = layoutWithOptions({ engine, layout: ParallelLayout.parse({}) }).states ?? {};
  return {
    modelShape: known.model,
    sequenceLength: model.sequenceLength,
    globalBatchSize: training.globalBatchSize,
    precision: training.precision,
    stack: engine.name,
    ...(training.lora === undefined ? {} : { lora: training.lora }),
    ...(training.packing === undefined ? {} : { packing: training.packing }),
    ...(gradientPrecision === undefined ? {} : { gradientPrecision }),
    pinned: {
      ...(takesDegreesOnly({ engine }) ? ONE_WAY : {}),
      ...(microBatchSize === undefined ? {} : { microBatchSize }),
    },
  };
}

/** What a program does that receives degrees alone. */
const ONE_WAY: PinnedAxes = {
  context: 1,
  expert: 1,
  expertTensor: 1,
  chunks: 1,
  zeroStage: 1,
  schedule: '1f1b',
  recompute: 'none',
  partition: 'even',
  rankOrder: 'tp-cp-dp-pp',
  offloadOptimizer: 0,
  offloadActivations: 0,
};
