/** Distributions of layers over pipeline stages. */
import { MAX_LISTED_STAGES, type ModelShape } from '@coxswain/layout';
import type { CandidateLayout, StagePart } from '../facts.ts';
import { stagePartsOf } from '../stages.ts';
import { PARTITIONS, type Partition } from '../contract.ts';
import { evenOutStages, type StageWeights } from './even-out-stages.ts';
import type { PipelineChoice } from './search-space.ts';

type StagePartition = Pick<CandidateLayout, 'vocabulary' | 'stages'>;

/** Distributions of the layers of one model. Equal ones are the same object, so that models can cache by it. */
export class StagePartitions {
  readonly #model: Pick<ModelShape, 'layers' | 'mtpLayers'>;
  readonly #searched: readonly Partition[];
  readonly #ruled = new Map<number, RuledPartitions>();
  readonly #balanced = new WeakMap<readonly StagePart[], { readonly partition: StagePartition | undefined }>();

  /** @param searched partitions of the search; duplicates among them count once */
  constructor(model: Pick<ModelShape, 'layers' | 'mtpLayers'>, searched: readonly Partition[] = PARTITIONS) {
    this.#model = model;
    this.#searched = searched;
  }

  /**
   * The stages that a partition means. Undefined if they are the same as the even ones or as those of a searched partition before it in `PARTITIONS`. Undefined
   * too if there would be more stages than a layout may list, or fewer layers than balanced stages.
   * `balancedStages` is asked only for 'balanced'; the same list has the same answer, however it is divided over ranks.
   */
  of(
    pipeline: number,
    choice: Pick<PipelineChoice, 'chunks' | 'partition'>,
    balancedStages: () => readonly StagePart[],
  ): StagePartition | undefined {
    const ruled = this.#ruledPartitions(pipeline * choice.chunks);
    if (choice.partition === 'even' || pipeline === 1) return ruled.even;
    if (choice.partition === 'vocabulary') return ruled.vocabulary;
    // Balanced stages have at least one layer. With more stages than layers, embedding and loss have their own stages, as in `even`.
    if (pipeline * choice.chunks > this.#model.layers) return undefined;
    const stages = balancedStages();
    const known = this.#balanced.get(stages);
    if (known !== undefined) return known.partition;
    const layers = layersOf(stages);
    const isVocabulary = layers === ruled.vocabularyLayers && this.#searched.includes('vocabulary');
    const partition = isVocabulary || layers === ruled.evenLayers ? undefined : listing(stages);
    this.#balanced.set(stages, { partition });
    return partition;
  }

  #ruledPartitions(count: number): RuledPartitions {
    const known = this.#ruled.get(count);
    if (known !== undefined) return known;
    const even = this.#listed(count, 'end-stages');
    const vocabulary = this.#listed(count, 'counted-as-layer');
    const partitions = {
      even: even.partition,
      evenLayers: even.layers,
      vocabulary: vocabulary.layers === even.layers ? undefined : vocabulary.partition,
      vocabularyLayers: vocabulary.layers,
    };
    this.#ruled.set(count, partitions);
    return partitions;
  }

  /** A partition that says more than "as even as possible" lists its stages. */
  #listed(
    count: number,
    vocabulary: StagePartition['vocabulary'],
  ): { readonly partition: StagePartition | undefined; readonly layers: string } {
    const stages = stagePartsOf(this.#model, { pipeline: count, chunks: 1, vocabulary });
    const slots = this.#model.layers + (vocabulary === 'counted-as-layer' ? 2 : 0);
    return { partition: slots % count === 0 ? { vocabulary } : listing(stages), layers: layersOf(stages) };
  }
}

function listing(stages: readonly StagePart[]): StagePartition | undefined {
  return stages.length > MAX_LISTED_STAGES ? undefined : { vocabulary: 'end-stages', stages };
}

/** The partitions into one number of stages that need no costs; the layers of each are listed for comparison. */
interface RuledPartitions {
  readonly even: StagePartition | undefined;
  readonly evenLayers: string;
  readonly vocabulary: StagePartition | undefined;
  readonly vocabularyLayers: string;
}

function layersOf(stages: readonly StagePart[]): string {
  return stages.map((stage) => stage.layers).join();
}

/**
 * Contiguous stages of at least one layer each, such that the slowest is as fast as possible. Within that, late stages are filled first,
 * because early ones hold more micro-batches in flight. On GPUs of unequal speed the others are evened out instead. Halving finds the least time for which the stages suffice, to a thousandth of a layer.
 * Exact where layers are alike or GPUs are; where both differ, filling each stage as far as it goes can leave a long layer to a slow stage.
 */
export function balancedLayerCounts(weights: StageWeights): readonly number[] {
  const counts = fastestCounts(weights);
  const isUnequal = weights.speeds.some((speed) => speed !== weights.speeds[0]);
  return isUnequal && weights.speeds.length <= weights.layersS.length ? evenOutStages(weights, counts) : counts;
}

function fastestCounts(weights: StageWeights): readonly number[] {
  const { layersS, speeds, embeddingS, lossS } = weights;
  const totalS = layersS.reduce((sum, layerS) => sum + layerS, embeddingS + lossS);
  const longestS = Math.max(...layersS);
  let low = totalS / speeds.reduce((sum, speed) => sum + speed, 0);
  let high = low + (longestS + Math.max(embeddingS, lossS)) / Math.min(...speeds);
  let best = fill(weights, high);
  while (best === undefined) {
    low = high;
    high *= 2;
    best = fill(weights, high);
    if (high > totalS * IMPOSSIBLE) return speeds.map(() => 1);
  }
  while (high - low > longestS / 1000) {
    const middle = (low + high) / 2;
    const filled = fill(weights, middle);
    if (filled === undefined) {
      low = middle;
    } else {
      best = filled;
      high = middle;
    }
  }
  return best;
}

/** Upper limit of the search for the least time; reached with fewer layers than stages. */
const IMPOSSIBLE = 1e6;

/** Layers per stage so that no stage takes longer than `limitS`, or undefined where that is impossible. */
function fill(weights: StageWeights, limitS: number): readonly number[] | undefined {
  const { layersS, speeds, embeddingS, lossS } = weights;
  const last = speeds.length - 1;
  const counts: number[] = new Array<number>(speeds.length);
  let layer = layersS.length - 1;
  for (let stage = last; stage >= 0; stage--) {
    let roomS = limitS * (speeds[stage] ?? 1) - (stage === 0 ? embeddingS : 0) - (stage === last ? lossS : 0);
    const from = layer;
    while (layer >= stage) {
      roomS -= layersS[layer] ?? 0;
      if (roomS < 0) break;
      layer--;
    }
    if (layer === from) return undefined;
    counts[stage] = from - layer;
  }
  return layer < 0 ? counts : undefined;
}
