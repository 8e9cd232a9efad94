/** Which divisions of the GPUs does a request leave open, beside the degrees that it pins? */
import type { ModelShape } from '@coxswain/layout';
import type { AllowedChoices, PinnedAxes } from '../contract.ts';
import type { CandidateLayout } from '../facts.ts';
import { wantsPipeline } from '../request/pipeline-pins.ts';

interface Space {
  readonly model: ModelShape;
  readonly globalBatchSize: number;
  readonly pinned: PinnedAxes;
  readonly allow: AllowedChoices;
}

type DenseGrid = Pick<CandidateLayout, 'tensor' | 'pipeline' | 'data'>;

export function isWantedGrid(space: Space, grid: DenseGrid): boolean {
  if (grid.pipeline === 1 && wantsPipeline(space.pinned)) return false;
  return space.allow.evenOnly !== true || isEven(space, grid);
}

function isEven({ model, globalBatchSize }: Space, { tensor, pipeline, data }: DenseGrid): boolean {
  return model.attentionHeads % tensor === 0 && model.layers % pipeline === 0 && globalBatchSize % data === 0;
}
