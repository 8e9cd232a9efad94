/** What does one pipeline take, with any of the states of its group? The last level of the search: bounds of one layout, then its prediction. */
import type { CandidateLayout } from '../facts.ts';
import type { MemoryFacts } from '../memory/memory-facts.ts';
import { hostCapacityBytesOf } from '../memory/memory-verdict.ts';
import { pipelineLoadOf } from '../memory/pipeline-load.ts';
import { rankContentsOf, rankMemoryOf } from '../memory/rank-memory.ts';
import { firstRankMakespanBound, makespanLowerBound, type FirstRankOrders } from '../schedule/makespan-bound.ts';
import { makespanOf } from '../schedule/makespan.ts';
import type { ScheduleInput } from '../schedule/schedule-input.ts';
import { newScheduleScratch } from '../schedule/schedule-scratch.ts';
import { newWorkBuffers, pipelineWorkOf, scheduleInputOf, workTrafficS } from '../time/pipeline-work.ts';
import type { BlockCosts } from '../time/stage-cost.ts';
import { stepSecondsOf } from '../time/step-time.ts';
import type { PipelineModels } from './layout-models.ts';
import { remembered } from './memo.ts';
import { leastBytesOf, type FilledRank } from './memory-bounds.ts';
import { microBatchesOf, runFactsOf, type SearchedRun } from './searched-run.ts';
import type { TimeBounds } from './time-bounds.ts';

/** What all pipelines of one group of passes share. */
export interface PassInputs {
  /** Of the states that take least memory. */
  readonly memory: MemoryFacts;
  readonly memoryOfState: (candidate: CandidateLayout, stateIndex: number) => MemoryFacts;
  /** Least seconds for gradients and weights. */
  readonly transferS: number;
  readonly costs: BlockCosts;
}

export class PipelinePredictions {
  readonly #run: SearchedRun;
  readonly #bounds: TimeBounds;
  readonly #scratch = newScheduleScratch();
  /** Holds the passes of the pipeline that was asked for last. */
  readonly #work = newWorkBuffers();
  readonly #makespans = new Map<string, number>();
  readonly #orders: FirstRankOrders = new Map();
  readonly #hostBytes: number;

  constructor(run: SearchedRun, bounds: TimeBounds) {
    this.#run = run;
    this.#bounds = bounds;
    this.#hostBytes = hostCapacityBytesOf(run.base.cluster);
  }

  /** Models of one pipeline; they hold until the next one is asked for. */
  of(minMemory: CandidateLayout, { memory, memoryOfState, transferS, costs }: PassInputs): PipelineModels {
    const { constants, kernels } = this.#run;
    const run = runFactsOf(this.#run, minMemory);
    const work = pipelineWorkOf(run, costs, constants, this.#work);
    const input = scheduleInputOf(run, work, constants, this.#work);
    const leastS = makespanLowerBound(input);
    let filled: readonly FilledRank[] | undefined;
    const ranks = (): readonly FilledRank[] => (filled ??= this.#filledRanks(minMemory, memory));
    const ownTransferS = workTrafficS(this.#bounds.fewestTransfers(minMemory), work, constants);
    let makespanS: number | undefined;
    let closerS: number | undefined;
    const models = { constants, kernels };
    const stepOf = (candidate: CandidateLayout, pipelineS: number): number =>
      stepSecondsOf(runFactsOf(this.#run, candidate), work, pipelineS, models).stepTimeS;
    return {
      leastS: this.#bounds.stepS(leastS * this.#bounds.imbalance(minMemory) + Math.max(transferS, ownTransferS)),
      leastBytes: () => leastBytesOf({ ...memory, candidate: minMemory }, ranks()),
      timeBoundS: (candidate) => stepOf(candidate, leastS),
      closerBoundS: (candidate) => {
        closerS ??= Math.max(leastS, firstRankMakespanBound(input, this.#orders));
        return stepOf(candidate, closerS);
      },
      peakBytes: (candidate, index) =>
        peakBytesOf(candidate, memoryOfState(candidate, index), { ranks: ranks(), hostBytes: this.#hostBytes }),
      stepTimeS: (candidate) => {
        makespanS ??= minMemory.pipeline === 1 ? leastS : this.#makespanS(minMemory, input);
        return stepOf(candidate, makespanS);
      },
    };
  }

  #filledRanks(minMemory: CandidateLayout, memory: MemoryFacts): readonly FilledRank[] {
    const facts = { ...memory, candidate: minMemory };
    const { heaviest } = pipelineLoadOf(this.#run.base.model, minMemory, microBatchesOf(this.#run, minMemory));
    return heaviest.map((load) => ({ load, contents: rankContentsOf(facts, load) }));
  }

  /** Meshes that differ in what crosses which network often have the same passes: a schedule is simulated once for all of them. */
  #makespanS(candidate: CandidateLayout, input: ScheduleInput): number {
    const key = [
      ...[input.schedule, input.pipeline, input.chunks, input.microBatches, input.p2p, hopsKeyOf(input)],
      ...[input.forwardS, input.backwardInputS, input.backwardWeightS].flatMap((seconds) => [...new Set(seconds)]),
      candidate.stages?.map(({ layers }) => layers).join(',') ?? candidate.vocabulary,
    ].join('/');
    return remembered(this.#makespans, key, () => makespanOf(input, this.#scratch));
  }
}

/** Hand-overs are all alike but where islands have networks of their own. */
function hopsKeyOf({ forwardHopS: hops }: ScheduleInput): string {
  const [first = 0] = hops;
  return hops.every((hopS) => hopS === first) ? String(first) : hops.join();
}

/** Infinity where the host has not room for what is offloaded: no GPU memory makes up for that. */
function peakBytesOf(
  candidate: CandidateLayout,
  memory: MemoryFacts,
  { ranks, hostBytes: capacity }: { readonly ranks: readonly FilledRank[]; readonly hostBytes: number },
): number {
  const facts = { ...memory, candidate };
  let peak = 0;
  for (const { load, contents } of ranks) {
    const { totalBytes, hostBytes } = rankMemoryOf(facts, load, contents);
    if (hostBytes > capacity) return Infinity;
    peak = Math.max(peak, totalBytes);
  }
  return peak;
}
