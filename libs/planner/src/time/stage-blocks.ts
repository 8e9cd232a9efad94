/** The blocks of each pipeline stage. */
import type { ModelShape } from '@coxswain/layout';
import type { StagePart } from '../facts.ts';

/** The blocks that one virtual stage holds. */
export interface StageBlocks {
  readonly attention: number;
  readonly denseMlp: number;
  readonly expertMlp: number;
  readonly stateSpace: number;
  readonly mtpLayers: number;
  readonly embedding: boolean;
  readonly loss: boolean;
}

/** What each virtual stage holds, by kind of block. */
export function blocksOfStages(model: ModelShape, stages: readonly StagePart[]): readonly StageBlocks[] {
  let next = 0;
  return stages.map((stage) => {
    const from = next;
    next += stage.layers;
    const { mtpLayers, embedding, loss } = stage;
    return { ...blocksOfLayers(model, from, next), mtpLayers, embedding, loss };
  });
}

type LayerBlocks = Pick<StageBlocks, 'attention' | 'denseMlp' | 'expertMlp' | 'stateSpace'>;

/** Blocks of the layers [from, to). */
function blocksOfLayers(model: ModelShape, from: number, to: number): LayerBlocks {
  const { layerPattern, experts } = model;
  if (layerPattern === undefined) {
    const layers = to - from;
    const dense = experts === undefined ? layers : Math.max(0, Math.min(to, experts.denseLayers) - from);
    return { attention: layers, denseMlp: dense, expertMlp: layers - dense, stateSpace: 0 };
  }
  const blocks = { attention: 0, denseMlp: 0, expertMlp: 0, stateSpace: 0 };
  for (let layer = from; layer < Math.min(to, layerPattern.length); layer++) {
    const letter = layerPattern.charAt(layer);
    if (letter === 'M' || letter === 'L') blocks.stateSpace++;
    else if (letter === 'E') blocks.expertMlp++;
    else if (letter === '-') blocks.denseMlp++;
    else blocks.attention++;
  }
  return blocks;
}
