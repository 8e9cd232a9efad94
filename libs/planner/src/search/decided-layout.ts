/** Choices of the search put together: which layout do they mean? */
import type { CandidateLayout } from '../facts.ts';
import {
  candidateOfMesh,
  type AlgorithmOf,
  type DenseMesh,
  type Mesh,
  type PipelineChoice,
  type SpaceFacts,
  type StateChoice,
} from '../space/search-space.ts';
import { isOfSomeLayers, recomputedLayersOf } from '../recomputation-policies.ts';
import type { StagePartitions } from '../space/stage-partitions.ts';
import type { LayoutModels } from './layout-models.ts';

/** Spelled out, since an object that is put together of two others takes engines of JavaScript ten times as long. */
export function withoutExperts(mesh: DenseMesh): Mesh {
  return { ...mesh, expert: 1, expertTensor: 1 };
}

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
  const some = recomputedLayersOf(choice.recompute, Math.ceil(space.model.layers / (candidate.pipeline * chunks)));
  if (isOfSomeLayers(choice.recompute) && some === undefined) return undefined;
  const recomputeLayersPerChunk = some ?? candidate.recomputeLayersPerChunk;
  const scheduled = { ...candidate, schedule, chunks, recomputeLayersPerChunk };
  const partition = partitions.of(candidate.pipeline, pipeline, () => models.balancedStages(scheduled));
  if (partition === undefined) return undefined;
  return { ...scheduled, vocabulary: partition.vocabulary, stages: partition.stages };
}

/** A mesh with one even stage per rank. */
export function plainCandidateOf(mesh: Mesh, partitions: StagePartitions): CandidateLayout {
  const candidate = candidateOfMesh(mesh);
  const partition = partitions.of(mesh.pipeline, { chunks: 1, partition: 'even' }, () => []);
  if (partition === undefined) return candidate;
  return { ...candidate, vocabulary: partition.vocabulary, stages: partition.stages };
}

/** Chooses the legal algorithm with the fastest attention; of equal ones the first, and the first also where none is legal. */
export function fastestAlgorithm(
  models: Pick<LayoutModels, 'attentionS'>,
  legality: { degreeRefusal(mesh: DenseMesh): unknown },
): AlgorithmOf {
  return (mesh, algorithms) => {
    const legal = algorithms
      .map((contextAlgorithm) => ({ ...mesh, contextAlgorithm }))
      .filter((candidate) => legality.degreeRefusal(candidate) === undefined);
    const [first, ...others] = legal;
    if (first === undefined || others.length === 0) return (first ?? mesh).contextAlgorithm;
    const attentionS = (of: DenseMesh): number => models.attentionS(candidateOfMesh(withoutExperts(of)));
    let fastest = first;
    let leastS = attentionS(first);
    for (const other of others) {
      const seconds = attentionS(other);
      if (seconds < leastS) [fastest, leastS] = [other, seconds];
    }
    return fastest.contextAlgorithm;
  };
}
