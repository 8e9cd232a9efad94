/** Makes layouts of the choices at each level of the search. */
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

/** The mesh with undivided experts. Fields are listed one by one, because object spread is ten times slower here. */
export function withoutExperts(mesh: DenseMesh): Mesh {
  return { ...mesh, expert: 1, expertTensor: 1 };
}

/** Inputs of {@link decidedCandidate}. */
export interface Deciding {
  readonly space: SpaceFacts;
  readonly models: Pick<LayoutModels, 'balancedStages'>;
  readonly partitions: StagePartitions;
}

/** The layout of decided choices; undefined if it equals an earlier layout of the space. */
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

/** The layout of a mesh with one even stage per rank and default states. */
export function plainCandidateOf(mesh: Mesh, partitions: StagePartitions): CandidateLayout {
  const candidate = candidateOfMesh(mesh);
  const partition = partitions.of(mesh.pipeline, { chunks: 1, partition: 'even' }, () => []);
  if (partition === undefined) return candidate;
  return { ...candidate, vocabulary: partition.vocabulary, stages: partition.stages };
}

/** Returns a function that chooses the legal algorithm with the fastest attention; the first on ties and if none is legal. */
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
