/** Implements the models of the search for one run. */
import { firstViolation, gridRules, type LayoutFacts } from '@coxswain/layout';
import type { CandidateLayout, StagePart } from '../facts.ts';
import { memoryFactsOf, type MemoryFacts } from '../memory/memory-facts.ts';
import { layoutOfCandidate } from '../request/layout-conversion.ts';
import { layoutFactsOf } from '../request/layout-rule-facts.ts';
import type { RunBase } from '../request/resolved-request.ts';
import { brokenStageOf } from '../request/whole-stages.ts';
import type { TimeConstants } from '../time/constants.ts';
import { BalancedStages } from './balanced-stages.ts';
import { LayoutCosts, type PassSeconds, type WholeModel } from './layout-costs.ts';
import type { Bounds, LayoutModels, PassModels, Refusal } from './layout-models.ts';
import { getOrCompute } from './get-or-compute.ts';
import { MemoryBounds, type LayerBytes } from './memory-bounds.ts';
import { PipelinePredictions, type PassInputs } from './pipeline-models.ts';
import { runFactsOf, searchedRunOf, type SearchedRun } from './searched-run.ts';
import { TimeBounds } from './time-bounds.ts';

/** The models of one run: rules, costs, bounds and predictions. */
export class RunModels implements LayoutModels {
  readonly #run: SearchedRun;
  readonly #costs: LayoutCosts;
  readonly #stages: BalancedStages;
  readonly #time: TimeBounds;
  readonly #memory: MemoryBounds;
  readonly #pipelines: PipelinePredictions;
  /** By micro-batch, which is all of a layout that they hold. */
  readonly #ruleFacts = new Map<number, LayoutFacts>();

  constructor(base: RunBase, constants: TimeConstants) {
    this.#run = searchedRunOf(base, constants);
    this.#costs = new LayoutCosts(this.#run);
    this.#stages = new BalancedStages(this.#run, this.#costs);
    this.#time = new TimeBounds(this.#run);
    this.#memory = new MemoryBounds(this.#run);
    this.#pipelines = new PipelinePredictions(this.#run, this.#time);
  }

  refusalOf(candidate: CandidateLayout): Refusal | undefined {
    const broken = brokenStageOf(this.#run.base.cluster, candidate);
    if (broken !== undefined) return { rule: broken.rule, message: broken.message };
    // Host memory is requested from Kubernetes once a layout is chosen; any amount satisfies the rule that asks for one.
    const first = firstViolation(layoutOfCandidate(candidate, this.#run.base.model, 1), this.#factsOf(candidate));
    return first === undefined ? undefined : { rule: first.rule, message: first.message };
  }

  degreeRefusalOf(candidate: CandidateLayout): Refusal | undefined {
    const ofIslands = brokenStageOf(this.#run.base.cluster, candidate);
    if (ofIslands !== undefined) return { rule: ofIslands.rule, message: ofIslands.message };
    const facts = this.#factsOf(candidate);
    for (const rule of gridRules) {
      if (!rule.holds(candidate, facts)) return new BrokenDegrees(rule, candidate, facts);
    }
    return undefined;
  }

  #factsOf({ microBatchSize }: CandidateLayout): LayoutFacts {
    return getOrCompute(this.#ruleFacts, microBatchSize, () => layoutFactsOf(this.#run.base, microBatchSize));
  }

  balancedStages(candidate: CandidateLayout): readonly StagePart[] {
    return this.#stages.of(candidate);
  }

  attentionS(mesh: CandidateLayout): number {
    return this.#costs.attentionS(mesh);
  }

  denseBounds(mesh: CandidateLayout): readonly Bounds[] {
    const { experts } = this.#run.base.model;
    if (experts === undefined) return this.meshBounds(mesh);
    const spread = { ...mesh, expert: experts.count, expertTensor: mesh.tensor };
    return this.#boundsOf(spread, this.#costs.withCheapestExperts(mesh));
  }

  meshBounds(mesh: CandidateLayout): readonly Bounds[] {
    return this.#boundsOf(mesh, this.#costs.wholeModel(mesh));
  }

  /** Either weights are gathered for every micro-batch, or each rank keeps its own. */
  #boundsOf(mesh: CandidateLayout, whole: PassSeconds): readonly Bounds[] {
    return LEAST_ZERO_STAGES.map((zeroStage) => {
      const candidate = leastStatesOf(mesh, zeroStage);
      const memory = this.#memoryFactsOf(candidate);
      const bytes = this.#memory.meanRankBytes(candidate, memory);
      return {
        timeS: this.#time.stepS(this.#time.leastPipelineS(candidate, this.#time.withGathers(candidate, whole))),
        bytes: Math.max(this.#memory.lossBytes(memory), bytes),
      };
    });
  }

  withPasses(minMemory: CandidateLayout): PassModels {
    const whole = this.#costs.wholeModel(minMemory);
    const wholeOf = (candidate: CandidateLayout): WholeModel =>
      candidate.recomputeLayersPerChunk === undefined ? whole : this.#costs.wholeModel(candidate);
    const busy = this.#time.withGathers(minMemory, whole);
    const memory = this.#memoryFactsOf(minMemory);
    const memories: (MemoryFacts | undefined)[] = [];
    const memoryOfState = (candidate: CandidateLayout, index: number): MemoryFacts =>
      (memories[index] ??= this.#memoryFactsOf(candidate));
    const transferS = this.#time.leastTransferS(minMemory, whole);
    const bytes = this.#memory.meanRankBytes(minMemory, memory);
    const known: PassInputs['known'] = [];
    let layers: LayerBytes | undefined;
    return {
      bounds: { timeS: this.#time.stepS(this.#time.leastPipelineS(minMemory, busy) + transferS), bytes },
      scheduleBounds: ({ schedule, chunks }) => {
        layers ??= this.#memory.layerBytes(minMemory, memory);
        return {
          timeS: this.#time.stepS(this.#time.leastScheduleS(minMemory, schedule, busy) + transferS),
          bytes: Math.max(bytes, this.#memory.scheduleBytes({ ...minMemory, schedule, chunks }, layers)),
        };
      },
      balancedStages: (candidate) => this.#stages.of(candidate, wholeOf(candidate)),
      withPipeline: (candidate) =>
        this.#pipelines.of(candidate, { memory, memoryOfState, transferS, costs: wholeOf(candidate).costs, known }),
    };
  }

  #memoryFactsOf(candidate: CandidateLayout): MemoryFacts {
    return memoryFactsOf(runFactsOf(this.#run, candidate));
  }
}

/** Computes its message on first use: the search reports only one of thousands of violations, and finding the nearest legal degree is slow. */
class BrokenDegrees implements Refusal {
  readonly rule: string;
  readonly #rule: GridRule;
  readonly #point: CandidateLayout;
  readonly #facts: LayoutFacts;

  constructor(rule: GridRule, point: CandidateLayout, facts: LayoutFacts) {
    this.rule = rule.name;
    this.#rule = rule;
    this.#point = point;
    this.#facts = facts;
  }

  get message(): string {
    return this.#rule.explain(this.#point, this.#facts).message;
  }
}

type GridRule = (typeof gridRules)[number];

const LEAST_ZERO_STAGES = [2, 3] as const;

/** As little as states and activations can take, with weights kept (stage 2) or gathered (stage 3). */
function leastStatesOf(mesh: CandidateLayout, zeroStage: 2 | 3): CandidateLayout {
  return { ...mesh, zeroStage, zeroImplementation: 'fsdp', recompute: 'full', offloadOptimizer: 1 };
}
