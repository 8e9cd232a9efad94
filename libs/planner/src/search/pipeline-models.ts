/** The last level of the search: bounds of one pipeline with any states of its group, then the prediction of each layout. */
import type { CandidateLayout } from '../facts.ts';
import type { MemoryFacts } from '../memory/memory-facts.ts';
import { hostCapacityBytesOf } from '../memory/memory-verdict.ts';
import { pipelineLoadOf } from '../memory/pipeline-load.ts';
import { rankContentsOf, rankMemoryOf } from '../memory/rank-memory.ts';
import { waitingMakespanBound, makespanLowerBound, type OrdersOfRanks } from '../schedule/makespan-bound.ts';
import { makespanOf } from '../schedule/makespan.ts';
import type { ScheduleInput } from '../schedule/schedule-input.ts';
import { newScheduleScratch } from '../schedule/schedule-scratch.ts';
import {
  pipelineWorkOf,
  scheduleInputOf,
  withSchedule,
  workTrafficS,
  type PipelineWork,
} from '../time/pipeline-work.ts';
import { isVShaped } from '../stages.ts';
import type { BlockCosts } from '../time/stage-cost.ts';
import { stateSecondsOf, stepSecondsOf, type StateSeconds } from '../time/step-time.ts';
import { BOUND_MARGIN } from './bound-margin.ts';
import type { PipelineModels } from './layout-models.ts';
import { leastBytesOf, type FilledRank } from './memory-bounds.ts';
import { microBatchesOf, runFactsOf, type SearchedRun } from './searched-run.ts';
import type { TimeBounds } from './time-bounds.ts';

/** Inputs that all pipelines of one group of passes share. */
export interface PassInputs {
  /** Of the states that take least memory. */
  readonly memory: MemoryFacts;
  readonly memoryOfState: (candidate: CandidateLayout, stateIndex: number) => MemoryFacts;
  /** Least seconds for gradients and weights. */
  readonly transferS: number;
  readonly costs: BlockCosts;
  /** Cached stages of its pipelines. */
  readonly known: PricedStages[];
}

/** Stages on ranks, priced whatever the schedule. */
interface PricedStages {
  /** The layout that they were priced for. */
  readonly of: CandidateLayout;
  readonly work: PipelineWork;
  readonly input: ScheduleInput;
  /** Least seconds for gradients and weights of the rank that holds most. */
  readonly transferS: number;
  /** By number of the choice of states. */
  readonly ofStates: StateSeconds[];
}

/** Predicts pipelines; caches makespans. */
export class PipelinePredictions {
  readonly #run: SearchedRun;
  readonly #bounds: TimeBounds;
  readonly #scratch = newScheduleScratch();
  readonly #makespans = new Map<string, number>();
  /** Lower bounds of makespans whose simulation was stopped early. */
  readonly #unfinished = new Map<string, number>();
  readonly #orders: OrdersOfRanks = new Map();
  readonly #hostBytes: number;

  constructor(run: SearchedRun, bounds: TimeBounds) {
    this.#run = run;
    this.#bounds = bounds;
    this.#hostBytes = hostCapacityBytesOf(run.base.cluster);
  }

  of(minMemory: CandidateLayout, passes: PassInputs): PipelineModels {
    const { memory, memoryOfState, transferS } = passes;
    const { constants } = this.#run;
    const stages = this.#stagesOf(minMemory, passes);
    const input = withSchedule(stages.input, minMemory);
    const leastS = makespanLowerBound(input);
    let filled: readonly FilledRank[] | undefined;
    const ranks = (): readonly FilledRank[] => (filled ??= this.#filledRanks(minMemory, memory));
    let closer: number | undefined;
    const closerS = (): number =>
      (closer ??= BOUND_MARGIN * Math.max(leastS, waitingMakespanBound(input, this.#orders)));
    const least = (pipelineS: number): number =>
      this.#bounds.stepS(pipelineS * this.#bounds.imbalance(minMemory) + Math.max(transferS, stages.transferS));
    const stepOf = (candidate: CandidateLayout, stateIndex: number, pipelineS: number): number => {
      const run = runFactsOf(this.#run, candidate);
      const beside = (stages.ofStates[stateIndex] ??= stateSecondsOf(run, stages.work, this.#run));
      return stepSecondsOf(run, beside, pipelineS, constants).stepTimeS;
    };
    return {
      leastS: least(leastS),
      closerLeastS: () => least(closerS()),
      leastBytes: () => leastBytesOf({ ...memory, candidate: minMemory }, ranks()),
      timeBoundS: (candidate, index) => stepOf(candidate, index, BOUND_MARGIN * leastS),
      closerBoundS: (candidate, index) => stepOf(candidate, index, closerS()),
      peakBytes: (candidate, index) =>
        peakBytesOf(candidate, memoryOfState(candidate, index), { ranks: ranks(), hostBytes: this.#hostBytes }),
      stepTimeS: (candidate, index, isUseful) => {
        if (minMemory.pipeline === 1) return stepOf(candidate, index, leastS);
        const isUsefulPipeline = isUseful && ((pipelineS: number) => isUseful(stepOf(candidate, index, pipelineS)));
        return stepOf(candidate, index, this.#makespanS(minMemory, input, isUsefulPipeline));
      },
    };
  }

  /** Schedules that place the same stages on ranks alike run the same passes, which are priced for the first of them. */
  #stagesOf(minMemory: CandidateLayout, { costs, known }: PassInputs): PricedStages {
    const { pipeline, chunks, schedule, stages, vocabulary } = minMemory;
    const isFolded = isVShaped(schedule);
    const before = known.find(
      ({ of }) =>
        of.chunks === chunks &&
        of.stages === stages &&
        of.vocabulary === vocabulary &&
        of.pipeline === pipeline &&
        isVShaped(of.schedule) === isFolded,
    );
    if (before !== undefined) return before;
    const { constants } = this.#run;
    const run = runFactsOf(this.#run, minMemory);
    const work = pipelineWorkOf(run, costs, constants, false);
    const priced = {
      of: minMemory,
      work,
      input: scheduleInputOf(run, work, constants),
      transferS: workTrafficS(this.#bounds.fewestTransfers(minMemory), work, constants),
      ofStates: [],
    };
    known.push(priced);
    return priced;
  }

  #filledRanks(minMemory: CandidateLayout, memory: MemoryFacts): readonly FilledRank[] {
    const facts = { ...memory, candidate: minMemory };
    const { heaviest } = pipelineLoadOf(this.#run.base.model, minMemory, microBatchesOf(this.#run, minMemory));
    return heaviest.map((load) => ({ load, contents: rankContentsOf(facts, load) }));
  }

  /**
   * Meshes that differ in what crosses which network often have the same passes: a schedule is simulated once for all of them, and no further than to where it
   * has taken longer than is useful.
   */
  #makespanS(
    candidate: CandidateLayout,
    input: ScheduleInput,
    isUseful: ((pipelineS: number) => boolean) | undefined,
  ): number {
    const key = [
      ...[input.schedule, input.pipeline, input.chunks, input.microBatches, input.p2p, hopsKeyOf(input)],
      ...[input.forwardS, input.backwardInputS, input.backwardWeightS].flatMap((seconds) => [...new Set(seconds)]),
      candidate.stages?.map(({ layers }) => layers).join(',') ?? candidate.vocabulary,
    ].join('/');
    const known = this.#makespans.get(key);
    if (known !== undefined) return known;
    const atLeastS = this.#unfinished.get(key) ?? BOUND_MARGIN * makespanLowerBound(input);
    if (isUseful?.(atLeastS) === false) return atLeastS;
    const mostS = isUseful === undefined ? Infinity : longestUsefulS(atLeastS, isUseful);
    const foundS = makespanOf(input, this.#scratch, mostS);
    (foundS > mostS ? this.#unfinished : this.#makespans).set(key, foundS);
    return foundS;
  }
}

/** Seconds from which on no makespan is useful, a little later rather than earlier; none where twice the bound still is. */
function longestUsefulS(leastS: number, isUseful: (pipelineS: number) => boolean): number {
  let useful = leastS;
  let useless = 2 * leastS;
  if (isUseful(useless)) return Infinity;
  for (let halving = 0; halving < 10; halving++) {
    const middle = (useful + useless) / 2;
    if (isUseful(middle)) useful = middle;
    else useless = middle;
  }
  return useless;
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
