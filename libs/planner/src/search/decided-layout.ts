/** Choices of the search put together: which layout do they mean? */
import type { CandidateLayout } from '../facts.ts';
import {
  candidateOfMesh,
  type AlgorithmOf,
  type ExpertGrid,
  type Mesh,
  type PipelineChoice,
  type SpaceFacts,
  type StateChoice,
} from '../space/search-space.ts';
import type { StagePartitions } from '../space/stage-partitions.ts';
import type { LayoutModels } from './layout-models.ts';

export const NO_EXPERTS: ExpertGrid = { expert: 1, expertTensor: 1 };

/** What layouts of a space are decided by. */
export interface Deciding {
  readonly space: SpaceFacts;
  readonly models: Pick<LayoutModels, 'balancedStages'>;
  readonly partitions: StagePartitions;
}

/** The whole layout, or undefined where it repeats one that the space lists before it. */
export function decidedCandidate(
  { space, models, partitions }: Deciding,
  leaf: { readonly candidate: CandidateLayout; readonly choice: StateChoice; readonly pipeline: PipelineChoice },
): CandidateLayout | undefined {
  const { candidate, choice, pipeline } = leaf;
  const { schedule, chunks } = pipeline;
  const half = choice.recompute === 'half' ? halfOfChunk(space, candidate.pipeline * chunks) : undefined;
  if (choice.recompute === 'half' && half === undefined) return undefined;
  const scheduled = {
    ...candidate,
    schedule,
    chunks,
    ...(half === undefined ? {} : { recomputeLayersPerChunk: half }),
  };
  const partition = partitions.of(candidate.pipeline, pipeline, () => models.balancedStages(scheduled));
  return partition === undefined ? undefined : { ...scheduled, ...partition };
}

/** Half of the layers of a chunk; undefined where a chunk has one layer, of which half is all. */
function halfOfChunk(space: SpaceFacts, chunks: number): number | undefined {
  const layers = Math.ceil(space.model.layers / chunks);
  return layers < 2 ? undefined : Math.ceil(layers / 2);
}

/** A mesh with one even stage per rank. */
export function plainCandidateOf(mesh: Mesh, partitions: StagePartitions): CandidateLayout {
  return { ...candidateOfMesh(mesh), ...partitions.of(mesh.pipeline, { chunks: 1, partition: 'even' }, () => []) };
}

/** Chooses the legal algorithm with the fastest attention; of equal ones the first, and the first also where none is legal. */
export function fastestAlgorithm(
  models: Pick<LayoutModels, 'attentionS' | 'degreeRefusalOf'>,
  partitions: StagePartitions,
): AlgorithmOf {
  return (mesh, algorithms) => {
    const plain: Mesh = { ...mesh, ...NO_EXPERTS };
    const timed = algorithms.flatMap((contextAlgorithm) => {
      const candidate = plainCandidateOf({ ...plain, contextAlgorithm }, partitions);
      const isLegal = models.degreeRefusalOf(candidate) === undefined;
      return isLegal ? [{ contextAlgorithm, seconds: models.attentionS(candidate) }] : [];
    });
    const [first, ...others] = timed;
    if (first === undefined) return mesh.contextAlgorithm;
    return others.reduce((least, other) => (other.seconds < least.seconds ? other : least), first).contextAlgorithm;
  };
}
