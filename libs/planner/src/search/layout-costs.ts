/** Costs of one micro-batch on the whole model, cached by the few choices that they depend on. */
import { divisorsOf } from '@coxswain/layout';
import type { CandidateLayout } from '../facts.ts';
import type { BlockCost } from '../time/block-cost.ts';
import { groupsOf } from '../time/groups.ts';
import { attentionCostOf, blockCostsOf, type BlockCosts } from '../time/stage-cost.ts';
import { getOrCompute } from './get-or-compute.ts';
import { runFactsOf, type SearchedRun } from './searched-run.ts';

/** Seconds of one micro-batch over the whole model on one rank, all passes. */
export interface WholeModel {
  readonly costs: BlockCosts;
  /** By layer kind. */
  readonly perKindS: readonly number[];
  readonly embeddingS: number;
  /** Loss and multi-token prediction, which are on the last stage. */
  readonly endS: number;
  readonly shortestLayerS: number;
  readonly forwardS: number;
  readonly backwardS: number;
  /** Forward, and gradients of activations. */
  readonly roundTripS: number;
  readonly totalS: number;
}

/** Seconds of one micro-batch over the whole model: all passes, and the round trip. */
export type BusySeconds = Pick<WholeModel, 'totalS' | 'roundTripS' | 'endS' | 'shortestLayerS'>;
/** {@link BusySeconds} by direction. */
export type PassSeconds = BusySeconds & Pick<WholeModel, 'forwardS' | 'backwardS'>;

/** Cached costs of layouts. */
export class LayoutCosts {
  readonly #run: SearchedRun;
  readonly #whole = new Map<string, WholeModel>();
  readonly #cheapest = new Map<string, PassSeconds>();
  readonly #blocks = new Map<string, BlockCost>();

  constructor(run: SearchedRun) {
    this.#run = run;
  }

  wholeModel(candidate: CandidateLayout): WholeModel {
    return getOrCompute(this.#whole, costKeyOf(candidate), () => {
      const keys = blockKeysOf(candidate);
      const costs = blockCostsOf(runFactsOf(this.#run, candidate), this.#run.constants, (block, compute) =>
        getOrCompute(this.#blocks, keys[block], compute),
      );
      return wholeModelOf(this.#run, costs);
    });
  }

  /** Seconds of one layer's attention, all passes. */
  attentionS(candidate: CandidateLayout): number {
    const attention = getOrCompute(this.#blocks, attentionKeyOf(candidate), () =>
      attentionCostOf(runFactsOf(this.#run, candidate), this.#run.constants),
    );
    return blockS(attention);
  }

  /** A lower bound over all expert degrees: least cost, and longest passes to overlap transfers with. */
  withCheapestExperts(mesh: CandidateLayout): PassSeconds {
    return getOrCompute(this.#cheapest, costKeyOf(mesh), () => {
      const count = this.#run.base.model.experts?.count ?? 1;
      const cheapest = {
        forwardS: 0,
        backwardS: 0,
        roundTripS: Infinity,
        totalS: Infinity,
        endS: Infinity,
        shortestLayerS: Infinity,
      };
      for (const expertTensor of new Set([1, mesh.tensor])) {
        for (const expert of divisorsOf(count)) {
          const whole = this.wholeModel({ ...mesh, expert, expertTensor });
          cheapest.forwardS = Math.max(cheapest.forwardS, whole.forwardS);
          cheapest.backwardS = Math.max(cheapest.backwardS, whole.backwardS);
          cheapest.roundTripS = Math.min(cheapest.roundTripS, whole.roundTripS);
          cheapest.endS = Math.min(cheapest.endS, whole.endS);
          cheapest.shortestLayerS = Math.min(cheapest.shortestLayerS, whole.shortestLayerS);
          cheapest.totalS = Math.min(cheapest.totalS, whole.totalS);
        }
      }
      return cheapest;
    });
  }
}

/** Cache key of the costs of all blocks. */
export function costKeyOf(candidate: CandidateLayout): string {
  const { tensor, context, expert, expertTensor, microBatchSize } = candidate;
  const mesh = `${tensor}/${context}/${expert}/${expertTensor}/${microBatchSize}`;
  return `${mesh}/${exchangeKeyOf(candidate)}/${candidate.overlapExpert ? 'hidden' : ''}/${recomputedKeyOf(candidate)}`;
}

/**
 * What the cost of each block depends on. All depend on the tokens of a rank, and few ways to cut a batch differ in that. Attention depends too on how tokens
 * are exchanged, and experts on where they lie.
 */
function blockKeysOf(candidate: CandidateLayout): Readonly<Record<keyof BlockCosts, string>> {
  const { context, expert, expertTensor } = candidate;
  const shared = sharedKeyOf(candidate);
  return {
    attention: attentionKeyOf(candidate),
    denseMlp: `mlp/${shared}`,
    expertMlp: `experts/${shared}/${expert}/${expertTensor}/${candidate.overlapExpert ? 'hidden' : ''}`,
    stateSpace: `space/${shared}/${context}/${exchangeKeyOf(candidate)}`,
    embedding: `embedding/${shared}`,
    loss: `loss/${shared}`,
  };
}

function attentionKeyOf(candidate: CandidateLayout): string {
  return `attention/${sharedKeyOf(candidate)}/${candidate.context}/${exchangeKeyOf(candidate)}`;
}

function sharedKeyOf(candidate: CandidateLayout): string {
  const { tensor, microBatchSize, context } = candidate;
  return `${tensor}/${microBatchSize / context}/${recomputedKeyOf(candidate)}`;
}

function exchangeKeyOf(candidate: CandidateLayout): string {
  return candidate.context > 1 ? `${candidate.contextAlgorithm}/${groupsOf(candidate).context.stride}` : '';
}

function recomputedKeyOf(candidate: CandidateLayout): string {
  const { recompute, recomputeModules, recomputeLayersPerChunk: block } = candidate;
  const again = recompute === 'selective' ? recomputeModules.join() : recompute;
  return block === undefined ? again : `${again}/${block}/${candidate.pipeline * candidate.chunks}`;
}

function wholeModelOf(run: SearchedRun, costs: BlockCosts): WholeModel {
  const { model } = run.base;
  const perKind = run.parameters.kinds.map(({ mixer, feedForward }) =>
    passesOf([
      ...(mixer === 'none' ? [] : [mixer === 'attention' ? costs.attention : costs.stateSpace]),
      ...(feedForward === 'none' ? [] : [feedForward === 'mlp' ? costs.denseMlp : costs.expertMlp]),
    ]),
  );
  const mtpMlp = model.experts === undefined ? costs.denseMlp : costs.expertMlp;
  const mtp = passesOf([costs.attention, mtpMlp, costs.loss]);
  const end = passesOf([costs.loss]);
  addPasses(end, mtp, model.mtpLayers);
  const embedding = passesOf([costs.embedding]);
  const all = passesOf([]);
  addPasses(all, end, 1);
  addPasses(all, embedding, 1);
  run.layersOfKind.forEach((layers, kind) => addPasses(all, perKind[kind] ?? passesOf([]), layers));
  return {
    costs,
    perKindS: perKind.map(totalOf),
    embeddingS: totalOf(embedding),
    endS: totalOf(end),
    shortestLayerS: Math.min(...perKind.map(totalOf)),
    forwardS: all.forwardS,
    backwardS: all.inputS + all.weightS,
    roundTripS: all.forwardS + all.inputS,
    totalS: totalOf(all),
  };
}

/** Seconds of one block over its three passes. */
function blockS(block: BlockCost): number {
  return totalOf(passesOf([block]));
}

/** Seconds of the three passes. */
interface Passes {
  forwardS: number;
  inputS: number;
  weightS: number;
}

function passesOf(blocks: readonly BlockCost[]): Passes {
  const passes = { forwardS: 0, inputS: 0, weightS: 0 };
  for (const block of blocks) {
    passes.forwardS += block.forwardS;
    passes.inputS += block.backwardInputS;
    passes.weightS += block.backwardWeightS;
  }
  return passes;
}

function addPasses(sum: Passes, passes: Passes, times: number): void {
  sum.forwardS += times * passes.forwardS;
  sum.inputS += times * passes.inputS;
  sum.weightS += times * passes.weightS;
}

function totalOf(passes: Passes): number {
  return passes.forwardS + passes.inputS + passes.weightS;
}
