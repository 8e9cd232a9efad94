/** Limits which dense meshes are searched. */
import type { ModelShape } from '@coxswain/layout';
import type { AllowedChoices, PinnedAxes } from '../contract.ts';
import type { CandidateLayout } from '../facts.ts';
import { wantsPipeline } from '../request/pipeline-pins.ts';

interface Space {
  readonly model: ModelShape;
  readonly globalBatchSize: number;
  readonly sequenceLength: number;
  readonly pinned: PinnedAxes;
  readonly allow: AllowedChoices;
}

type DenseGrid = Pick<CandidateLayout, 'tensor' | 'context' | 'pipeline' | 'data'>;

/**
 * Of the published runs that divide samples none leaves a rank fewer than 2,048 tokens, and one of 59 as few (`measurements*.csv` of
 * research/planner-calibration); half of that is searched.
 */
const LEAST_CONTEXT_TOKENS = 1024;

/** Whether a mesh is part of the space. */
export function isSearchedGrid(space: Space, grid: DenseGrid): boolean {
  if (grid.pipeline === 1 && wantsPipeline(space.pinned)) return false;
  if (dividesShortSamples(space, grid) && mayTakeWholeSamples(space, grid)) return false;
  return space.allow.evenOnly !== true || isEven(space, grid);
}

function dividesShortSamples({ sequenceLength }: Space, { context }: DenseGrid): boolean {
  return context > 1 && sequenceLength / context < LEAST_CONTEXT_TOKENS;
}

/** Whether context ranks could process whole samples instead and still fill the pipeline. */
function mayTakeWholeSamples({ globalBatchSize, pinned }: Space, { context, data, pipeline }: DenseGrid): boolean {
  if (pinned.context !== undefined || pinned.data !== undefined) return false;
  const microBatches = globalBatchSize / (data * context * (pinned.microBatchSize ?? 1));
  return Number.isInteger(microBatches) && microBatches >= pipeline;
}

function isEven({ model, globalBatchSize }: Space, { tensor, pipeline, data }: DenseGrid): boolean {
  return model.attentionHeads % tensor === 0 && model.layers % pipeline === 0 && globalBatchSize % data === 0;
}
