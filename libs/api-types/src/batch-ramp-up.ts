/** How does the batch grow in the first steps? Sizes, samples and steps, counted as Megatron-LM counts them. */
import { z } from 'zod';

const size = z.int().min(1).max(1_048_576);

/** A batch that grows in equal steps until it has its full size. */
export const BatchRampUp = z
  .strictObject({
    startSize: size.describe('Samples of the first step; less than globalBatchSize.'),
    increment: size.describe('By how many samples the batch grows at a time, up to globalBatchSize exactly.'),
    samples: z
      .int()
      .min(1)
      .max(Number.MAX_SAFE_INTEGER)
      .describe('Samples after which the batch has globalBatchSize. Each size is used for an equal part of them.'),
  })
  .meta({ id: 'BatchRampUp' });
export type BatchRampUp = z.infer<typeof BatchRampUp>;

/** The sizes of a job's batch. */
export interface GrowingBatch {
  readonly globalBatchSize: number;
  readonly batchRampUp?: BatchRampUp | undefined;
}

/** Whether the sizes lead from the first to the last. */
export function isWholeRampUp({ globalBatchSize, batchRampUp }: GrowingBatch): boolean {
  if (batchRampUp === undefined) return true;
  const rise = globalBatchSize - batchRampUp.startSize;
  return rise > 0 && rise % batchRampUp.increment === 0;
}

interface Stage {
  readonly size: number;
  readonly steps: number;
}

/** Steps of each size below the full one. Sizes that a large step leaps over have none. */
function stagesOf(batch: GrowingBatch): readonly Stage[] {
  const { globalBatchSize, batchRampUp } = batch;
  if (batchRampUp === undefined || !isWholeRampUp(batch)) return [];
  const { startSize, increment, samples } = batchRampUp;
  const each = samples / ((globalBatchSize - startSize) / increment);
  const stages: Stage[] = [];
  for (let used = 0; used < samples;) {
    const level = Math.floor(used / each);
    const now = startSize + level * increment;
    const steps = Math.max(1, Math.ceil((Math.min(samples, (level + 1) * each) - used) / now));
    stages.push({ size: now, steps });
    used += steps * now;
  }
  return stages;
}

/** Samples that the first `steps` steps use. */
export function samplesOfSteps(batch: GrowingBatch, steps: number): number {
  let [left, samples] = [steps, 0];
  for (const stage of stagesOf(batch)) {
    const taken = Math.min(left, stage.steps);
    samples += taken * stage.size;
    left -= taken;
  }
  return samples + left * batch.globalBatchSize;
}

/** Steps that use at least so many samples. */
export function stepsOfSamples(batch: GrowingBatch, samples: number): number {
  let [left, steps] = [samples, 0];
  for (const stage of stagesOf(batch)) {
    const taken = Math.min(stage.steps, Math.ceil(Math.max(0, left) / stage.size));
    steps += taken;
    left -= taken * stage.size;
  }
  return steps + Math.ceil(Math.max(0, left) / batch.globalBatchSize);
}
