/**
 * Which layouts of the space are best, and which rules out the rest?
 *
 * Branch and bound over three levels: mesh, states, pipeline (`search-space.ts`). A branch is left when a rule forbids it, when the least
 * memory that it can take does not fit, or when a lower bound of its time and memory shows that nothing in it can enter the best few or the
 * Pareto front. Bounds come from the models, are never above what they bound, and only prune strictly: the result equals that of plain
 * enumeration, in the same order.
 */
import type { LayoutPoint, StagePart } from '../facts.ts';
import type { BestLayouts, ParetoFront } from './kept-layouts.ts';
import {
  contextAlgorithmsOf,
  denseGridsOf,
  expertGridsOf,
  microBatchSizesOf,
  pipelineChoicesOf,
  pointOfMesh,
  rankOrdersOf,
  stateChoicesOf,
  withStates,
  type Mesh,
  type PipelineChoice,
  type SpaceFacts,
  type StateChoice,
} from './search-space.ts';
import { StageCuts } from './stage-cuts.ts';

/** A broken rule, as a person reads it. */
export interface Refusal {
  readonly rule: string;
  readonly message: string;
}

/** Least time and memory of all layouts that a branch of the search may still become; never above what any of them takes. */
export interface Bounds {
  readonly timeS: number;
  readonly bytes: number;
}

/** What the search asks of the models. All are pure. */
export interface LayoutModels {
  /** The first broken rule. */
  readonly refusalOf: (point: LayoutPoint) => Refusal | undefined;
  /** Stages of which the slowest is as fast as possible. The same object for the same answer, where that is cheap. */
  readonly balancedStages: (point: LayoutPoint) => readonly StagePart[];
  /** Of every layout on a mesh. */
  readonly meshBounds: (mesh: LayoutPoint) => Bounds;
  readonly withStates: (point: LayoutPoint) => StateModels;
}

/** Models of the layouts on one mesh with one choice of states: what these have in common is computed once. */
export interface StateModels {
  /** Of every pipeline. */
  readonly bounds: Bounds;
  readonly timeBoundS: (point: LayoutPoint) => number;
  readonly peakBytes: (point: LayoutPoint) => number;
  readonly stepTimeS: (point: LayoutPoint) => number;
}

export interface SearchLimits {
  /** Most bytes of a GPU that a layout may take. */
  readonly peakBytes: number;
  readonly stepTimeS: number;
}

/** What became of every layout of the space: `enumerated` is the sum of all others. */
export interface SearchTally {
  enumerated: number;
  /** By rule; 'memory' and 'deadline' are rules here as well. */
  readonly ruledOut: Map<string, { count: number; readonly example: string }>;
  bounded: number;
  /** Equal to a layout that is counted already. */
  repeated: number;
  timed: number;
}

export function newTally(): SearchTally {
  return { enumerated: 0, ruledOut: new Map(), bounded: 0, repeated: 0, timed: 0 };
}

export interface LayoutSearch {
  readonly space: SpaceFacts;
  readonly models: LayoutModels;
  readonly limits: SearchLimits;
  readonly best: BestLayouts;
  readonly front: ParetoFront;
  readonly tally: SearchTally;
  /** What comes first when meshes are tried: the smallest, or else the fastest. */
  readonly smallestFirst: boolean;
}

interface BoundedMesh extends Bounds {
  readonly mesh: Mesh;
  readonly index: number;
}

/** Numbers layouts as the space lists them: mesh, states, pipeline. */
export function orderOf(meshIndex: number, stateIndex: number, pipelineIndex: number): number {
  return (meshIndex * 4096 + stateIndex) * 256 + pipelineIndex;
}

/** Tries every layout of one number of GPUs; offers what it finds to `best` and `front`. */
export function searchLayouts(search: LayoutSearch): void {
  new Searcher(search).run();
}

/** Every mesh of the space, legal or not, in its order. */
export function* meshesOf(space: SpaceFacts): Generator<Mesh> {
  for (const grid of denseGridsOf(space)) {
    const orders = rankOrdersOf(space, grid);
    const algorithms = contextAlgorithmsOf(space, grid);
    const sizes = microBatchSizesOf(space, grid);
    for (const experts of expertGridsOf(space, grid)) {
      for (const microBatchSize of sizes) {
        for (const contextAlgorithm of algorithms) {
          for (const rankOrder of orders) yield { ...grid, ...experts, microBatchSize, contextAlgorithm, rankOrder };
        }
      }
    }
  }
}

const FASTEST_FIRST = 16;

class Searcher {
  readonly #search: LayoutSearch;
  readonly #gpus: number;
  readonly #cuts: StageCuts;
  /** Refusals of meshes by the choices that rules can read together, and of leaves likewise; null: legal. */
  readonly #meshRefusals = new Map<string, Refusal | null>();
  readonly #leafRefusals = new Map<string, Refusal | null>();
  readonly #pipelineChoices = new Map<number, readonly PipelineChoice[]>();

  constructor(search: LayoutSearch) {
    this.#search = search;
    this.#gpus = search.space.cluster.gpus;
    this.#cuts = new StageCuts(search.space.model);
  }

  run(): void {
    const meshes = this.#legalMeshes();
    const fastestFirst = (a: Bounds, b: Bounds): number => a.timeS - b.timeS || a.bytes - b.bytes;
    meshes.sort(fastestFirst);
    if (this.#search.smallestFirst) {
      // The fastest few come first nevertheless: they show how slow a layout on the front may be.
      const rest = meshes.splice(FASTEST_FIRST);
      meshes.push(...rest.sort((a, b) => a.bytes - b.bytes || a.timeS - b.timeS));
    }
    for (const mesh of meshes) this.#tryMesh(mesh);
  }

  #legalMeshes(): BoundedMesh[] {
    const { space, models, tally } = this.#search;
    const meshes: BoundedMesh[] = [];
    let index = 0;
    for (const mesh of meshesOf(space)) {
      index++;
      const refusal = this.#meshRefusal(mesh);
      if (refusal !== undefined) {
        const size = this.#sizeOf(mesh);
        tally.enumerated += size;
        this.#ruleOut(refusal.rule, size, () => refusal.message);
        continue;
      }
      const point = pointOfMesh(mesh);
      meshes.push({ mesh, index, ...models.meshBounds(point) });
    }
    return meshes;
  }

  #sizeOf(mesh: Mesh): number {
    return stateChoicesOf(this.#search.space, mesh).length * this.#pipelineChoicesOf(mesh).length;
  }

  #pipelineChoicesOf(mesh: Mesh): readonly PipelineChoice[] {
    const known = this.#pipelineChoices.get(mesh.pipeline);
    if (known !== undefined) return known;
    const choices = pipelineChoicesOf(this.#search.space, mesh);
    this.#pipelineChoices.set(mesh.pipeline, choices);
    return choices;
  }

  #tryMesh(bounded: BoundedMesh): void {
    const { space, models, tally } = this.#search;
    const { mesh } = bounded;
    const states = stateChoicesOf(space, mesh);
    const pipelines = this.#pipelineChoicesOf(mesh);
    const size = states.length * pipelines.length;
    tally.enumerated += size;
    if (this.#leave(bounded, size)) return;
    const point = pointOfMesh(mesh);
    for (const [stateIndex, choice] of states.entries()) {
      const decided = withStates(point, choice, space.model);
      const stateModels = models.withStates(decided);
      if (this.#leave(stateModels.bounds, pipelines.length)) continue;
      for (const [pipelineIndex, pipeline] of pipelines.entries()) {
        const order = orderOf(bounded.index, stateIndex, pipelineIndex);
        this.#tryLeaf({ point: decided, choice, pipeline, models: stateModels, order });
      }
    }
  }

  /** Counts `size` layouts as out of question if these bounds show it, and says so. */
  #leave({ timeS, bytes }: Bounds, size: number): boolean {
    const { limits, best, front, tally } = this.#search;
    if (bytes > limits.peakBytes) {
      this.#ruleOut('memory', size, () => tooLarge(bytes, limits.peakBytes));
      return true;
    }
    if (timeS > limits.stepTimeS) {
      this.#ruleOut('deadline', size, () => tooSlow(timeS, limits.stepTimeS));
      return true;
    }
    if (!best.excludes(timeS, bytes, this.#gpus) || !front.excludes(timeS, bytes)) return false;
    tally.bounded += size;
    return true;
  }

  #tryLeaf(leaf: Leaf): void {
    const { tally, best, front } = this.#search;
    const point = decidedPoint(this.#cuts, this.#search, leaf);
    if (point === undefined) {
      tally.repeated++;
      return;
    }
    const refusal = this.#leafRefusal(point, leaf);
    if (refusal !== undefined) {
      this.#ruleOut(refusal.rule, 1, () => refusal.message);
      return;
    }
    const timeBoundS = leaf.models.timeBoundS(point);
    if (this.#leave({ timeS: timeBoundS, bytes: leaf.models.bounds.bytes }, 1)) return;
    const peakBytes = leaf.models.peakBytes(point);
    if (this.#leave({ timeS: timeBoundS, bytes: peakBytes }, 1)) return;
    const stepTimeS = leaf.models.stepTimeS(point);
    if (stepTimeS > this.#search.limits.stepTimeS) {
      this.#leave({ timeS: stepTimeS, bytes: peakBytes }, 1);
      return;
    }
    tally.timed++;
    const layout = { point, gpus: this.#gpus, stepTimeS, peakBytes, order: leaf.order };
    best.offer(layout);
    front.offer(layout);
  }

  /** Rules read a mesh through its degrees, and through one at a time of experts, micro-batch, context algorithm and rank order. */
  #meshRefusal(mesh: Mesh): Refusal | undefined {
    const { tensor, context, pipeline, data, expert, expertTensor } = mesh;
    const grid = `${tensor}/${context}/${pipeline}/${data}`;
    const plain = { ...mesh, expert: 1, expertTensor: 1, contextAlgorithm: 'ring', rankOrder: 'tp-cp-dp-pp' } as const;
    return (
      this.#keptRefusal(this.#meshRefusals, `${grid}/b${mesh.microBatchSize}`, () => plain) ??
      this.#keptRefusal(this.#meshRefusals, `${grid}/e${expert}/${expertTensor}/${mesh.rankOrder}`, () => ({
        ...plain,
        expert,
        expertTensor,
        rankOrder: mesh.rankOrder,
      })) ??
      this.#keptRefusal(this.#meshRefusals, `${grid}/${mesh.contextAlgorithm}`, () => ({
        ...plain,
        contextAlgorithm: mesh.contextAlgorithm,
      }))
    );
  }

  #keptRefusal(kept: Map<string, Refusal | null>, key: string, meshOf: () => Mesh): Refusal | undefined {
    const known = kept.get(key);
    if (known !== undefined) return known ?? undefined;
    const mesh = meshOf();
    const cut = this.#cuts.of(mesh.pipeline, { chunks: 1, partition: 'even' }, () => []);
    const refusal = this.#search.models.refusalOf({ ...pointOfMesh(mesh), ...cut });
    kept.set(key, refusal ?? null);
    return refusal;
  }

  /** Rules read a leaf through pipeline size, micro-batches, schedule, partition and state choices; a legal mesh breaks no other. */
  #leafRefusal(point: LayoutPoint, leaf: Leaf): Refusal | undefined {
    const { choice, pipeline } = leaf;
    const microBatches = this.#search.space.globalBatchSize / (point.data * point.microBatchSize);
    const shape = `${point.pipeline}/${microBatches}/${pipeline.schedule}/${pipeline.chunks}/${pipeline.partition}`;
    const shards = choice.shardGroup === point.data * point.context;
    const states = `${choice.zeroStage}/${shards}/${choice.recompute}/${choice.offloadOptimizer}/${choice.offloadActivations}`;
    const key = `${shape}/${states}/${point.context > 1}`;
    const known = this.#leafRefusals.get(key);
    if (known !== undefined) return known ?? undefined;
    const refusal = this.#search.models.refusalOf(point);
    this.#leafRefusals.set(key, refusal ?? null);
    return refusal;
  }

  #ruleOut(rule: string, count: number, exampleOf: () => string): void {
    const { ruledOut } = this.#search.tally;
    const known = ruledOut.get(rule);
    if (known === undefined) ruledOut.set(rule, { count, example: exampleOf() });
    else known.count += count;
  }
}

interface Leaf {
  /** Mesh and states are decided. */
  readonly point: LayoutPoint;
  readonly choice: StateChoice;
  readonly pipeline: PipelineChoice;
  readonly models: StateModels;
  readonly order: number;
}

/** The whole layout, or undefined where it repeats one that the space lists before it. */
export function decidedPoint(
  cuts: StageCuts,
  search: Pick<LayoutSearch, 'space' | 'models'>,
  leaf: Pick<Leaf, 'point' | 'choice' | 'pipeline'>,
): LayoutPoint | undefined {
  const { point, choice, pipeline } = leaf;
  const { schedule, chunks } = pipeline;
  const half = choice.recompute === 'half' ? halfOfChunk(search.space, point.pipeline * chunks) : undefined;
  if (choice.recompute === 'half' && half === undefined) return undefined;
  const scheduled = {
    ...point,
    schedule,
    chunks,
    ...(half === undefined ? {} : { recomputeLayersPerChunk: half }),
  };
  const cut = cuts.of(point.pipeline, pipeline, () => search.models.balancedStages(scheduled));
  return cut === undefined ? undefined : { ...scheduled, ...cut };
}

/** Half of the layers of a chunk; undefined where a chunk has one layer, of which half is all. */
function halfOfChunk(space: SpaceFacts, chunks: number): number | undefined {
  const layers = Math.ceil(space.model.layers / chunks);
  return layers < 2 ? undefined : Math.ceil(layers / 2);
}

const GIB = 2 ** 30;

function tooLarge(bytes: number, limit: number): string {
  return `needs at least ${(bytes / GIB).toFixed(1)} GiB per GPU, and ${(limit / GIB).toFixed(1)} may be used`;
}

function tooSlow(seconds: number, limit: number): string {
  return `takes at least ${seconds.toPrecision(3)} s per step, and the deadline leaves ${limit.toPrecision(3)}`;
}
