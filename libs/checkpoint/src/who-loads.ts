/** Which layouts load a checkpoint of which format? */
import { type ParallelLayout, worldSize } from '@coxswain/layout';

/** What a Checkpoint resource says of the state. */
export interface SavedAs {
  readonly format: string;
  readonly layout: ParallelLayout;
}

interface Degree {
  readonly field: string;
  readonly of: (layout: ParallelLayout) => number;
}

const TENSOR: Degree = { field: 'tensorParallelDegree', of: (layout) => layout.tensorParallelDegree };
const PIPELINE: Degree = { field: 'pipelineParallelDegree', of: (layout) => layout.pipelineParallelDegree };
const DATA: Degree = { field: 'dataParallelDegree', of: (layout) => layout.dataParallelDegree };
const EXPERT: Degree = {
  field: 'expert.expertParallelDegree',
  of: (layout) => layout.expert?.expertParallelDegree ?? 1,
};
const WORLD: Degree = { field: 'ranks', of: worldSize };

/**
 * Why that layout does not load it, as a sentence without its first words ("which ..."); undefined where it does, or where the format is not known here: its
 * engine says it then.
 *
 * torch_dcp and dcp name tensors, whatever their pieces. deepspeed: each rank reads the file of its own place unless it was converted ("universal");
 * a load with another data-parallel degree is refused by DeepSpeed itself. hugging-face: states of ranks are kept by their number. torch_dist: optimizer states
 * follow the division of the model unless they were saved as fully reshardable (Megatron-LM).
 */
export function whyNotLoadedBy(saved: SavedAs, layout: ParallelLayout): string | undefined {
  const fixed = fixedDegrees(saved, layout);
  const changed = fixed?.degrees.filter(({ of }) => of(saved.layout) !== of(layout)) ?? [];
  if (fixed === undefined || changed.length === 0) return undefined;
  const was = changed.map(({ field, of }) => `${field} ${of(saved.layout)}`).join(', ');
  const becomes = changed.map(({ field, of }) => `${field} ${of(layout)}`).join(', ');
  return `was saved as ${saved.format} with ${was}, and the layout has ${becomes}: ${fixed.instead}`;
}

function fixedDegrees(
  { format, layout: saved }: SavedAs,
  layout: ParallelLayout,
): { readonly degrees: readonly Degree[]; readonly instead: string } | undefined {
  switch (format) {
    case 'deepspeed':
      return layout.checkpointPolicy?.format === 'deepspeed-universal'
        ? undefined
        : {
            degrees: [TENSOR, PIPELINE, DATA, EXPERT],
            instead:
              'go on with the layout that saved it, or convert it and set layout.checkpointPolicy.format to deepspeed-universal',
          };
    case 'hugging-face':
      return { degrees: [WORLD], instead: 'go on with as many ranks as saved it' };
    case 'torch_dist':
      return saved.checkpointPolicy?.optimizerReshard === 'full'
        ? undefined
        : {
            degrees: [TENSOR, PIPELINE, EXPERT],
            instead:
              'go on with the degrees that saved it, or save with layout.checkpointPolicy.optimizerReshard full before they change',
          };
    default:
      return undefined;
  }
}
