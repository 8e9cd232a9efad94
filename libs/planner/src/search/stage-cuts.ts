/** Where is a model cut into pipeline stages? */
import type { ModelShape } from '@coxswain/layout';
import type { LayoutPoint, StagePart } from '../facts.ts';
import type { Partition } from '../plan-types.ts';
import { stagePartsOf } from '../stages.ts';
import type { PipelineChoice } from './search-space.ts';

type Cut = Pick<LayoutPoint, 'vocabulary' | 'stages'>;

/** Cuts of one model; equal ones are one object, so that models can keep what they know of a cut. */
export class StageCuts {
  readonly #model: Pick<ModelShape, 'layers' | 'mtpLayers'>;
  readonly #known = new Map<string, Cut>();

  constructor(model: Pick<ModelShape, 'layers' | 'mtpLayers'>) {
    this.#model = model;
  }

  /**
   * The cut that a partition means, or undefined where it is the same as that of a partition before it in `PARTITIONS`.
   * `balancedStages` is asked only for 'balanced'.
   */
  of(
    pipeline: number,
    choice: Pick<PipelineChoice, 'chunks' | 'partition'>,
    balancedStages: () => readonly StagePart[],
  ): Cut | undefined {
    const { chunks, partition } = choice;
    const even = this.#listed(pipeline, chunks, 'even');
    if (partition === 'even' || pipeline === 1) return even;
    const vocabulary = this.#listed(pipeline, chunks, 'vocabulary');
    if (partition === 'vocabulary') return this.#same(vocabulary, even, pipeline * chunks) ? undefined : vocabulary;
    const balanced: Cut = { vocabulary: 'end-stages', stages: balancedStages() };
    const isKnown = [even, vocabulary].some((cut) => this.#same(balanced, cut, pipeline * chunks));
    return isKnown ? undefined : balanced;
  }

  /** A cut that says more than "as even as possible" lists its stages. */
  #listed(pipeline: number, chunks: number, partition: Exclude<Partition, 'balanced'>): Cut {
    const key = `${partition}/${pipeline}/${chunks}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const counted = partition === 'vocabulary';
    const vocabulary = counted ? 'counted-as-layer' : 'end-stages';
    const slots = this.#model.layers + (counted ? 2 : 0);
    const cut: Cut =
      slots % (pipeline * chunks) === 0
        ? { vocabulary }
        : { vocabulary: 'end-stages', stages: stagePartsOf(this.#model, { pipeline, chunks, vocabulary }) };
    this.#known.set(key, cut);
    return cut;
  }

  #same(left: Cut, right: Cut, count: number): boolean {
    const shape = { pipeline: count, chunks: 1 };
    const leftStages = stagePartsOf(this.#model, { ...shape, ...left });
    const rightStages = stagePartsOf(this.#model, { ...shape, ...right });
    return leftStages.every((stage, index) => stage.layers === rightStages[index]?.layers);
  }
}

/** What a stage costs, for `balancedStages`: seconds of one micro-batch. */
export interface StageWeights {
  /** One entry per layer. */
  readonly layersS: readonly number[];
  readonly embeddingS: number;
  /** Output layer and loss, with everything that only the last stage does. */
  readonly lossS: number;
  /** Relative speed of the GPUs of each stage. */
  readonly speeds: readonly number[];
}

/**
 * Contiguous stages of at least one layer each, such that the slowest is as fast as possible; within that, late stages are filled first,
 * because early ones hold more micro-batches in flight. Exact: halving finds the least time for which the stages suffice, and then fills.
 */
export function balancedLayerCounts(weights: StageWeights): readonly number[] {
  const stages = weights.speeds.length;
  let high = 0;
  for (const layerS of weights.layersS) high += layerS;
  high = (high + weights.embeddingS + weights.lossS) / Math.min(...weights.speeds);
  let low = 0;
  let best = fill(weights, high);
  for (let halving = 0; halving < HALVINGS; halving++) {
    const middle = (low + high) / 2;
    const filled = fill(weights, middle);
    if (filled === undefined) {
      low = middle;
    } else {
      best = filled;
      high = middle;
    }
  }
  return best ?? Array.from({ length: stages }, () => 1);
}

const HALVINGS = 40;

/** Layers per stage so that no stage takes longer than `limitS`, or undefined where that is impossible. */
function fill(weights: StageWeights, limitS: number): readonly number[] | undefined {
  const { layersS, speeds, embeddingS, lossS } = weights;
  const stages = speeds.length;
  const counts: number[] = Array.from({ length: stages }, () => 0);
  let layer = layersS.length - 1;
  for (let stage = stages - 1; stage >= 0; stage--) {
    const room = limitS * (speeds[stage] ?? 1);
    let usedS = (stage === 0 ? embeddingS : 0) + (stage === stages - 1 ? lossS : 0);
    while (layer >= stage) {
      const nextS = usedS + (layersS[layer] ?? 0);
      if (nextS > room) break;
      usedS = nextS;
      counts[stage] = (counts[stage] ?? 0) + 1;
      layer--;
    }
    if (counts[stage] === 0) return undefined;
  }
  return layer < 0 ? counts : undefined;
}
