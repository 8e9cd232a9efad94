/**
 * Caches which parts of layouts break a rule.
 *
 * Rules read a layout in groups of choices, so a violation is cached by the group. A dense mesh is read through its degrees, and through one at a
 * time of micro-batch, context algorithm, and experts with rank order. On a legal mesh, rules of degrees read a schedule through the pipeline's size
 * and its micro-batches, other rules through the pipeline alone. States are read through whether there is a pipeline, and what is sharded over
 * how many. A rule that reads other choices together needs a key here: `run-models.spec.ts` compares the search with judging every whole layout.
 */
import { MAX_PLANNED_GPUS, servesSoftmax, softmaxOf } from '@coxswain/layout';
import type { CandidateLayout } from '../facts.ts';
import {
  candidateOfMesh,
  withStates,
  type DenseMesh,
  type Mesh,
  type PipelineChoice,
  type StateChoice,
} from '../space/search-space.ts';
import { decidedCandidate, plainCandidateOf, withoutExperts, type Deciding } from './decided-layout.ts';
import type { LayoutModels, Refusal } from './layout-models.ts';
import { getOrCompute } from './get-or-compute.ts';

/** Violations by index; null: legal, undefined: not checked yet. */
type RefusalSlots = (Refusal | null | undefined)[];

/** A choice with its index in the list of the space. */
export interface Numbered<Choice> {
  readonly choice: Choice;
  readonly index: number;
}

/** Cached violations of meshes, states and pipelines. */
export class LegalityCache<States extends object> {
  readonly #deciding: Deciding;
  readonly #models: LayoutModels;
  /** Refusals of meshes by the choices that rules read together; null: legal. */
  readonly #meshes = new Map<string, Refusal | null>();
  readonly #pipelines = new Map<number, RefusalSlots>();
  /** By the list that numbers the choices. */
  readonly #states = new Map<States, RefusalSlots>();
  /** By all that rules read of states and mesh together. */
  readonly #alikeStates = new Map<string, Refusal | null>();
  /** By context algorithm, of the degrees and the micro-batch that were asked for last. */
  readonly #degrees = new Map<DenseMesh['contextAlgorithm'], Refusal | null>();
  #degreesOf: DenseMesh | undefined;

  constructor(deciding: Deciding, models: LayoutModels) {
    this.#deciding = deciding;
    this.#models = models;
  }

  /** By rules of degrees. Rank orders share their degrees, and come one after the other. */
  degreeRefusal(mesh: DenseMesh): Refusal | undefined {
    if (this.#degreesOf === undefined || !sharesDegrees(mesh, this.#degreesOf)) this.#degrees.clear();
    this.#degreesOf = mesh;
    const refusal = getOrCompute(this.#degrees, mesh.contextAlgorithm, () => {
      const plain: Mesh = { ...withoutExperts(mesh), rankOrder: 'tp-cp-dp-pp' };
      return this.#models.degreeRefusalOf(this.#plainCandidate(plain)) ?? null;
    });
    return refusal ?? undefined;
  }

  denseRefusal(mesh: DenseMesh): Refusal | undefined {
    const plain: Mesh = { ...withoutExperts(mesh), contextAlgorithm: this.#anyAlgorithm(), rankOrder: 'tp-cp-dp-pp' };
    const grid = gridKeyOf(mesh);
    return (
      this.#meshRefusal(`${grid}/b${mesh.microBatchSize}`, plain) ??
      this.#meshRefusal(`${grid}/${mesh.contextAlgorithm}`, { ...plain, contextAlgorithm: mesh.contextAlgorithm })
    );
  }

  expertRefusal(mesh: Mesh): Refusal | undefined {
    const key = `${gridKeyOf(mesh)}/e${mesh.expert}/${mesh.expertTensor}/${mesh.rankOrder}`;
    return this.#meshRefusal(key, { ...mesh, contextAlgorithm: this.#anyAlgorithm() });
  }

  pipelineRefusal(mesh: Mesh, { choice, index }: Numbered<PipelineChoice>): Refusal | undefined {
    const { globalBatchSize } = this.#deciding.space;
    const microBatches = globalBatchSize / (mesh.data * mesh.microBatchSize);
    const candidateNow = (): CandidateLayout => {
      const candidate = candidateOfMesh(mesh);
      const states = { ...PLAIN_STATES, shardGroup: candidate.shardGroup };
      return (
        decidedCandidate(this.#deciding, { candidate, choice: states, pipeline: choice }) ?? this.#plainCandidate(mesh)
      );
    };
    const ofDegrees = slotsOf(this.#pipelines, microBatches * MAX_PIPELINE + mesh.pipeline);
    const ofPipeline = slotsOf(this.#pipelines, mesh.pipeline);
    return (
      refusalIn(ofDegrees, index, () => this.#models.degreeRefusalOf(candidateNow())) ??
      refusalIn(ofPipeline, index, () => this.#models.refusalOf(candidateNow()))
    );
  }

  /** `states` is the list that numbers the choice. */
  stateRefusal(mesh: Mesh, states: States, { choice, index }: Numbered<StateChoice>): Refusal | undefined {
    const replicas = mesh.data * mesh.context;
    const shape = (mesh.context > 1 ? 1 : 0) + (mesh.tensor > 1 ? 2 : 0) + (mesh.expert > 1 ? 4 : 0);
    return refusalIn(slotsOf(this.#states, states), (index * 8 + shape) * 2 + (replicas > 1 ? 1 : 0), () => {
      const { zeroStage, shardGroup, recompute, offloadOptimizer, offloadActivations } = choice;
      const sharded = shardGroup === replicas ? 'all' : `${shardGroup} of ${replicas}`;
      const offloaded = `${offloadOptimizer}/${offloadActivations}`;
      const ranks = `${shape}/${replicas > 1}/${mesh.pipeline > 1}`;
      const refusal = getOrCompute(
        this.#alikeStates,
        `${zeroStage}/${sharded}/${recompute}/${offloaded}/${ranks}`,
        () =>
          this.#models.refusalOf(withStates(this.#plainCandidate(mesh), choice, this.#deciding.space.model)) ?? null,
      );
      return refusal ?? undefined;
    });
  }

  /** The pinned algorithm, else one that the softmax of the model supports. */
  #anyAlgorithm(): DenseMesh['contextAlgorithm'] {
    const { contextAlgorithm } = this.#deciding.space.pinned;
    if (contextAlgorithm !== undefined) return contextAlgorithm;
    return servesSoftmax('ring', softmaxOf(this.#deciding.space.model)) ? 'ring' : 'ulysses';
  }

  #meshRefusal(key: string, mesh: Mesh): Refusal | undefined {
    return (
      getOrCompute(this.#meshes, key, () => this.#models.refusalOf(this.#plainCandidate(mesh)) ?? null) ?? undefined
    );
  }

  #plainCandidate(mesh: Mesh): CandidateLayout {
    return plainCandidateOf(mesh, this.#deciding.partitions);
  }
}

const MAX_PIPELINE = MAX_PLANNED_GPUS + 1;

const PLAIN_STATES: StateChoice = {
  zeroStage: 0,
  shardGroup: 1,
  recompute: 'none',
  offloadOptimizer: 0,
  offloadActivations: 0,
};

function sharesDegrees(mesh: DenseMesh, other: DenseMesh): boolean {
  return (
    mesh.tensor === other.tensor &&
    mesh.context === other.context &&
    mesh.pipeline === other.pipeline &&
    mesh.data === other.data &&
    mesh.microBatchSize === other.microBatchSize
  );
}

function gridKeyOf({ tensor, context, pipeline, data }: DenseMesh): string {
  return `${tensor}/${context}/${pipeline}/${data}`;
}

function slotsOf<Key>(all: Map<Key, RefusalSlots>, key: Key): RefusalSlots {
  return getOrCompute(all, key, () => []);
}

function refusalIn(slots: RefusalSlots, index: number, refusalOf: () => Refusal | undefined): Refusal | undefined {
  const known = slots[index];
  if (known !== undefined) return known ?? undefined;
  const refusal = refusalOf();
  slots[index] = refusal ?? null;
  return refusal;
}
