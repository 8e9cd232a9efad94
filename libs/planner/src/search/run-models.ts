/** The models of one run as the search asks for them: rules, costs, bounds and predictions, each from the file that answers it. */
import { gridRules, layoutViolations, type LayoutFacts } from '@coxswain/layout';
import type { LayoutPoint, StagePart } from '../facts.ts';
import { memoryFactsOf, type MemoryFacts } from '../memory/memory-facts.ts';
import { layoutOfPoint } from '../request/layout-conversion.ts';
import { layoutFactsOf } from '../request/layout-rule-facts.ts';
import type { RunBase } from '../request/resolved-request.ts';
import type { TimeConstants } from '../time/constants.ts';
import { BalancedStages } from './balanced-stages.ts';
import { blockS, LayoutCosts, type PassSeconds } from './layout-costs.ts';
import type { Bounds, LayoutModels, PassModels, Refusal } from './layout-models.ts';
import { remembered } from './memo.ts';
import { MemoryBounds, type LayerBytes } from './memory-bounds.ts';
import { PipelinePredictions } from './pipeline-models.ts';
import { runFactsOf, searchedRunOf, type SearchedRun } from './searched-run.ts';
import { TimeBounds } from './time-bounds.ts';

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

  refusalOf(point: LayoutPoint): Refusal | undefined {
    // Host memory is requested from Kubernetes once a layout is chosen; any amount satisfies the rule that asks for one.
    const layout = layoutOfPoint(point, this.#run.base.model, 1);
    const [first] = layoutViolations(layout, this.#factsOf(point));
    return first === undefined ? undefined : { rule: first.rule, message: first.message };
  }

  degreeRefusalOf(point: LayoutPoint): Refusal | undefined {
    const grid = { ...point, stages: point.stages?.map((stage) => stage) };
    const facts = this.#factsOf(point);
    const broken = gridRules.find((rule) => !rule.holds(grid, facts));
    return broken === undefined ? undefined : { rule: broken.name, message: broken.explain(grid, facts).message };
  }

  #factsOf({ microBatchSize }: LayoutPoint): LayoutFacts {
    return remembered(this.#ruleFacts, microBatchSize, () => layoutFactsOf(this.#run.base, microBatchSize));
  }

  balancedStages(point: LayoutPoint): readonly StagePart[] {
    return this.#stages.of(point);
  }

  attentionS(mesh: LayoutPoint): number {
    return blockS(this.#costs.wholeModel(mesh).costs.attention);
  }

  denseBounds(mesh: LayoutPoint): readonly Bounds[] {
    const { experts } = this.#run.base.model;
    if (experts === undefined) return this.meshBounds(mesh);
    const spread = { ...mesh, expert: experts.count, expertTensor: mesh.tensor };
    return this.#boundsOf(spread, this.#costs.withCheapestExperts(mesh));
  }

  meshBounds(mesh: LayoutPoint): readonly Bounds[] {
    return this.#boundsOf(mesh, this.#costs.wholeModel(mesh));
  }

  /** Either weights are gathered for every micro-batch, or each rank keeps its own. */
  #boundsOf(mesh: LayoutPoint, whole: PassSeconds): readonly Bounds[] {
    const lossBytes = this.#memory.lossBytes(mesh);
    return LEAST_STATES.map((states) => {
      const point = { ...mesh, ...states };
      const bytes = this.#memory.meanRankBytes(point, this.#memoryFactsOf(point));
      return {
        timeS: this.#time.stepS(this.#time.leastPipelineS(point, this.#time.withGathers(point, whole))),
        bytes: Math.max(lossBytes, bytes),
      };
    });
  }

  withPasses(minMemory: LayoutPoint): PassModels {
    const whole = this.#costs.wholeModel(minMemory);
    const busy = this.#time.withGathers(minMemory, whole);
    const memory = this.#memoryFactsOf(minMemory);
    const memories: (MemoryFacts | undefined)[] = [];
    const memoryOfState = (point: LayoutPoint, index: number): MemoryFacts =>
      (memories[index] ??= this.#memoryFactsOf(point));
    const transferS = this.#time.leastTransferS(minMemory, whole);
    const bytes = this.#memory.meanRankBytes(minMemory, memory);
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
      withPipeline: (point) => {
        const { costs } = point.recomputeLayersPerChunk === undefined ? whole : this.#costs.wholeModel(point);
        return this.#pipelines.of(point, { memory, memoryOfState, transferS, costs });
      },
    };
  }

  #memoryFactsOf(point: LayoutPoint): MemoryFacts {
    return memoryFactsOf(runFactsOf(this.#run, point));
  }
}

/** As little as states and activations can take, with weights kept and with weights gathered. */
const LEAST_STATES = ([2, 3] as const).map(
  (zeroStage) => ({ zeroStage, zeroImplementation: 'fsdp', recompute: 'full', offloadOptimizer: 1 }) as const,
);
