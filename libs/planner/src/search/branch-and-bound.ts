/**
 * Which layouts of the space are best, and which rules out the rest?
 *
 * Branch and bound over the levels of `search-space.ts`: dense mesh, experts, passes, pipeline, states. A branch is left when a rule forbids it,
 * when the least memory that it can take does not fit, or when lower bounds of its time and memory show that nothing in it can enter the best
 * few or the Pareto front. Bounds come from the models, are never above what they bound, and only prune strictly: the result equals that of
 * plain enumeration, in the same order.
 */
import type { LayoutPoint, StagePart } from '../facts.ts';
import type { AllowedChoices } from '../contract.ts';
import { ParetoFront, type BestLayouts } from './kept-layouts.ts';
import { LeastFirst } from './least-first.ts';
import {
  denseMeshesOf,
  expertGridsOf,
  passGroupsOf,
  pipelineChoicesOf,
  pointOfMesh,
  shardGroupsOf,
  stateChoicesOf,
  withPassGroup,
  withStates,
  type AlgorithmOf,
  type DenseMesh,
  type ExpertGrid,
  type Mesh,
  type PassGroup,
  type PipelineChoice,
  type SpaceFacts,
  type StateChoice,
} from '../space/search-space.ts';
import { StageCuts } from '../space/stage-partitions.ts';

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

/** What the search asks of the models. All are pure. A point holds defaults for what its level leaves open. */
export interface LayoutModels {
  /** The first broken rule. */
  readonly refusalOf: (point: LayoutPoint) => Refusal | undefined;
  /** The first broken rule of those that read degrees only, which is asked of far more points. */
  readonly degreeRefusalOf: (point: LayoutPoint) => Refusal | undefined;
  /** Stages of which the slowest is as fast as possible. The same object for the same answer, where that is cheap. */
  readonly balancedStages: (point: LayoutPoint) => readonly StagePart[];
  /** Seconds of one layer's attention on a mesh, to choose the context algorithm by. */
  readonly attentionS: (mesh: LayoutPoint) => number;
  /** Of every layout on a dense mesh, however experts are dealt out: each of them keeps at least one of these bounds. */
  readonly denseBounds: (mesh: LayoutPoint) => readonly Bounds[];
  readonly meshBounds: (mesh: LayoutPoint) => readonly Bounds[];
  /** Of layouts whose states are `leanest` or another choice of the same group of passes. */
  readonly withPasses: (leanest: LayoutPoint) => PassModels;
}

export interface PassModels {
  readonly bounds: Bounds;
  /** Of every way to cut the layers for a schedule. */
  readonly scheduleBounds: (choice: Pick<PipelineChoice, 'schedule' | 'chunks'>) => Bounds;
  readonly withPipeline: (leanest: LayoutPoint) => PipelineModels;
}

export interface PipelineModels {
  /** Least time of every choice of states in the group. */
  readonly leastS: number;
  readonly leastBytes: () => number;
  /** A lower bound of one choice. */
  readonly timeBoundS: (point: LayoutPoint) => number;
  /** A closer one that takes longer to find. */
  readonly closerBoundS: (point: LayoutPoint) => number;
  /** `stateIndex` numbers the choices of the mesh. */
  readonly peakBytes: (point: LayoutPoint, stateIndex: number) => number;
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
  /** Of all layouts, those whose own bound was computed. */
  evaluated: number;
}

export function newTally(): SearchTally {
  return { enumerated: 0, ruledOut: new Map(), bounded: 0, repeated: 0, timed: 0, evaluated: 0 };
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

/** Numbers layouts as the space lists them. */
export function orderOf(
  mesh: { readonly dense: number; readonly expert: number },
  state: number,
  pipeline: number,
): number {
  return ((mesh.dense * 256 + mesh.expert) * 2048 + state) * 256 + pipeline;
}

/** Tries every layout of one number of GPUs; offers what it finds to `best` and `front`. */
export function searchLayouts(search: LayoutSearch): void {
  const scouted = scoutLayouts(search);
  new Searcher(search, scouted).run();
}

/** What excludes branches besides what a search has kept itself. */
type Rivals = Pick<LayoutSearch, 'best' | 'front'>;

/**
 * A search of the few layouts that are usually good, for what it teaches the search of all: a branch that cannot reach what is already found is
 * left at once. Its layouts are part of the space, so nothing is left wrongly, and the search of all finds them again.
 */
function scoutLayouts(search: LayoutSearch): Rivals {
  const { allow } = search.space;
  const among = <T>(usual: readonly T[], allowed: readonly T[] | undefined): readonly T[] => {
    const both = allowed === undefined ? usual : usual.filter((choice) => allowed.includes(choice));
    return both.length > 0 ? both : (allowed ?? usual);
  };
  const narrowed: AllowedChoices = {
    ...allow,
    schedules: [...among(USUALLY_GOOD.schedules, allow.schedules)],
    recompute: [...among(USUALLY_GOOD.recompute, allow.recompute)],
    zeroStages: [...among(USUALLY_GOOD.zeroStages, allow.zeroStages)],
    partitions: [...among(['even'] as const, allow.partitions)],
    rankOrders: [...among(['tp-cp-dp-pp'] as const, allow.rankOrders)],
    offload: false,
  };
  const { pinned } = search.space;
  const context = search.space.sequenceLength <= SHORT_SEQUENCE ? { context: 1 } : {};
  const best = search.best.emptyCopy();
  const front = new ParetoFront();
  const space = { ...search.space, allow: narrowed, pinned: { ...context, ...pinned } };
  const scout = { ...search, space, best, front, tally: newTally(), smallestFirst: false };
  new Searcher(scout, { best, front }).run();
  return { best, front };
}

/** Samples of so many tokens rarely want context parallelism. */
const SHORT_SEQUENCE = 8192;
const USUALLY_GOOD = {
  schedules: ['1f1b', 'interleaved-1f1b', 'zbv'],
  recompute: ['none', 'norms', 'full'],
  zeroStages: [1, 2],
} as const;

/** A dense mesh whose experts are not dealt out. */
interface DenseBranch {
  readonly mesh: DenseMesh;
  readonly index: number;
  readonly bounds: readonly Bounds[];
}

interface MeshBranch {
  readonly mesh: Mesh;
  readonly grid: ExpertGrid;
  readonly numbers: { readonly dense: number; readonly expert: number };
  readonly bounds: readonly Bounds[];
}

/** What state choices and pipelines a mesh leaves: the same for many. */
interface Openings {
  readonly states: readonly StateChoice[];
  readonly groups: readonly PassGroup[];
  readonly schedules: readonly ScheduleGroup[];
  readonly pipelines: number;
  readonly size: number;
}

interface NumberedPipeline {
  readonly pipeline: PipelineChoice;
  readonly pipelineIndex: number;
}

/** Pipelines that differ in how layers are cut. */
interface ScheduleGroup {
  readonly schedule: PipelineChoice['schedule'];
  readonly chunks: number;
  readonly pipelines: NumberedPipeline[];
}

function scheduleGroupsOf(pipelines: readonly PipelineChoice[]): readonly ScheduleGroup[] {
  const groups: ScheduleGroup[] = [];
  for (const [pipelineIndex, pipeline] of pipelines.entries()) {
    const { schedule, chunks } = pipeline;
    const group = groups.find((known) => known.schedule === schedule && known.chunks === chunks);
    if (group === undefined) groups.push({ schedule, chunks, pipelines: [{ pipeline, pipelineIndex }] });
    else group.pipelines.push({ pipeline, pipelineIndex });
  }
  return groups;
}

/** A branch at which mesh and passes are decided. */
interface PassBranch {
  readonly mesh: Mesh;
  readonly numbers: { readonly dense: number; readonly expert: number };
  readonly point: LayoutPoint;
  readonly group: PassGroup;
  readonly openings: Openings;
  readonly passes: PassModels;
}

const NO_EXPERTS: ExpertGrid = { expert: 1, expertTensor: 1 };

class Searcher {
  readonly #search: LayoutSearch;
  readonly #rivals: Rivals;
  readonly #gpus: number;
  readonly #cuts: StageCuts;
  /** Refusals by the choices that rules can read together; null: legal. */
  readonly #refusals = new Map<string, Refusal | null>();
  readonly #pipelineRefusals = new Map<number, RefusalSlots>();
  readonly #stateRefusals = new Map<Openings, RefusalSlots>();
  #degrees: { readonly key: string; readonly refusal: Refusal | undefined } = { key: '', refusal: undefined };
  readonly #openings = new Map<string, Openings>();
  readonly #branches = new LeastFirst<DenseBranch | MeshBranch>();

  constructor(search: LayoutSearch, rivals: Rivals) {
    this.#search = search;
    this.#rivals = rivals;
    this.#gpus = search.space.cluster.gpus;
    this.#cuts = new StageCuts(search.space.model);
  }

  run(): void {
    this.#addDenseMeshes();
    for (let branch = this.#branches.pop(); branch !== undefined; branch = this.#branches.pop()) {
      if ('grid' in branch) this.#tryMesh(branch);
      else this.#tryDenseMesh(branch);
    }
  }

  #addDenseMeshes(): void {
    const { space, models, tally } = this.#search;
    let index = 0;
    for (const mesh of denseMeshesOf(space, fastestAlgorithm(models, this.#cuts))) {
      index++;
      const size = this.#openingsOf(mesh).size * expertGridsOf(space, mesh).length;
      tally.enumerated += size;
      const refusal = this.#degreeRefusal(mesh);
      if (refusal === undefined) {
        this.#add({ mesh, index, bounds: models.denseBounds(pointOfMesh({ ...mesh, ...NO_EXPERTS })) }, size);
      } else {
        this.#ruleOut(refusal.rule, size, () => refusal.message);
      }
    }
  }

  /** Puts a branch of `size` layouts in the queue, if anything in it can be of use. */
  #add(branch: DenseBranch | MeshBranch, size: number): void {
    if (this.#leaveAll(branch.bounds, size)) return;
    const least = this.#leastOf(branch.bounds);
    this.#branches.push(this.#search.smallestFirst ? least.bytes : least.timeS, branch);
  }

  #leastOf(bounds: readonly Bounds[]): Bounds {
    const fitting = bounds.filter(({ bytes }) => bytes <= this.#search.limits.peakBytes);
    return {
      timeS: Math.min(...fitting.map(({ timeS }) => timeS)),
      bytes: Math.min(...bounds.map(({ bytes }) => bytes)),
    };
  }

  #openingsOf(mesh: DenseMesh): Openings {
    const { space } = this.#search;
    const key = `${mesh.pipeline}/${mesh.data * mesh.context}/${shardGroupsOf(space, mesh).join()}`;
    const known = this.#openings.get(key);
    if (known !== undefined) return known;
    const states = stateChoicesOf(space, mesh);
    const pipelines = pipelineChoicesOf(space, mesh);
    const openings = {
      states,
      groups: passGroupsOf(states),
      schedules: scheduleGroupsOf(pipelines),
      pipelines: pipelines.length,
      size: states.length * pipelines.length,
    };
    this.#openings.set(key, openings);
    return openings;
  }

  #tryDenseMesh({ mesh, index, bounds }: DenseBranch): void {
    const { space, models } = this.#search;
    const openings = this.#openingsOf(mesh);
    const grids = expertGridsOf(space, mesh);
    const size = openings.size * grids.length;
    if (this.#leaveAll(bounds, size)) return;
    const denseRefusal = this.#denseRefusal(mesh);
    if (denseRefusal !== undefined) {
      this.#ruleOut(denseRefusal.rule, size, () => denseRefusal.message);
      return;
    }
    for (const [expert, grid] of grids.entries()) {
      const whole = { ...mesh, ...grid };
      const refusal = this.#expertRefusal(whole);
      if (refusal === undefined) {
        const ofGrid = space.model.experts === undefined ? bounds : models.meshBounds(pointOfMesh(whole));
        this.#add({ mesh: whole, numbers: { dense: index, expert }, bounds: ofGrid, grid }, openings.size);
      } else {
        this.#ruleOut(refusal.rule, openings.size, () => refusal.message);
      }
    }
  }

  #tryMesh({ mesh, numbers, bounds }: MeshBranch): void {
    const { space, models } = this.#search;
    const openings = this.#openingsOf(mesh);
    if (this.#leaveAll(bounds, openings.size)) return;
    const point = pointOfMesh(mesh);
    const branches = openings.groups.map((group) => {
      const leanest = withPassGroup(point, group, space.model);
      return { mesh, numbers, point: leanest, group, openings, passes: models.withPasses(leanest) };
    });
    branches.sort((a, b) => a.passes.bounds.timeS - b.passes.bounds.timeS);
    for (const branch of branches) this.#tryPasses(branch);
  }

  #tryPasses(branch: PassBranch): void {
    const { group, passes, openings } = branch;
    const count = group.members.length;
    if (this.#leave(passes.bounds, count * openings.pipelines)) return;
    for (const schedule of openings.schedules) {
      const bounds = passes.scheduleBounds(schedule);
      if (this.#leave(bounds, count * schedule.pipelines.length)) continue;
      for (const pipeline of schedule.pipelines) this.#tryPipeline(branch, pipeline, bounds.bytes);
    }
  }

  #tryPipeline(branch: PassBranch, { pipeline, pipelineIndex }: NumberedPipeline, leastBytes: number): void {
    const { tally, space } = this.#search;
    const { group, mesh } = branch;
    const count = group.members.length;
    const refusal = this.#pipelineRefusal(mesh, { pipeline, pipelineIndex });
    if (refusal !== undefined) {
      this.#ruleOut(refusal.rule, count, () => refusal.message);
      return;
    }
    const leanest = decidedPoint(this.#cuts, this.#search, { point: branch.point, choice: group.leanest, pipeline });
    if (leanest === undefined) {
      tally.repeated += count;
      return;
    }
    const pipelineModels = branch.passes.withPipeline(leanest);
    const timeS = pipelineModels.leastS;
    if (this.#leave({ timeS, bytes: leastBytes }, count)) return;
    const bytes = pipelineModels.leastBytes();
    if (this.#leave({ timeS, bytes }, count)) return;
    for (const { choice, index } of group.members) {
      const stateRefusal = this.#stateRefusal(branch, choice, index);
      if (stateRefusal !== undefined) {
        this.#ruleOut(stateRefusal.rule, 1, () => stateRefusal.message);
        continue;
      }
      const point = withStates(leanest, choice, space.model);
      const boundS = pipelineModels.timeBoundS(point);
      tally.evaluated++;
      if (this.#leave({ timeS: boundS, bytes }, 1)) continue;
      const peakBytes = pipelineModels.peakBytes(point, index);
      if (this.#leave({ timeS: boundS, bytes: peakBytes }, 1)) continue;
      if (this.#leave({ timeS: pipelineModels.closerBoundS(point), bytes: peakBytes }, 1)) continue;
      this.#measure(point, pipelineModels, { bytes: peakBytes, order: orderOf(branch.numbers, index, pipelineIndex) });
    }
  }

  #measure(
    point: LayoutPoint,
    models: PipelineModels,
    { bytes, order }: { readonly bytes: number; readonly order: number },
  ): void {
    const { tally, best, front, limits } = this.#search;
    const stepTimeS = models.stepTimeS(point);
    if (stepTimeS > limits.stepTimeS) {
      this.#leave({ timeS: stepTimeS, bytes }, 1);
      return;
    }
    tally.timed++;
    const layout = { point, gpus: this.#gpus, stepTimeS, peakBytes: bytes, order };
    best.offer(layout);
    front.offer(layout);
  }

  /** Counts `size` layouts as out of question if every one of these bounds shows it, and says so. */
  #leaveAll(bounds: readonly Bounds[], size: number): boolean {
    const { limits } = this.#search;
    const possible = bounds.filter(
      (bound) => bound.bytes <= limits.peakBytes && bound.timeS <= limits.stepTimeS && !this.#excludes(bound),
    );
    const [first] = bounds;
    if (possible.length > 0 || first === undefined) return false;
    return this.#leave(bounds.find(({ bytes }) => bytes <= limits.peakBytes) ?? first, size);
  }

  /** Counts `size` layouts as out of question if these bounds show it, and says so. */
  #leave({ timeS, bytes }: Bounds, size: number): boolean {
    const { limits, tally } = this.#search;
    if (bytes > limits.peakBytes) {
      this.#ruleOut('memory', size, () => tooLarge(bytes, limits.peakBytes));
      return true;
    }
    if (timeS > limits.stepTimeS) {
      this.#ruleOut('deadline', size, () => tooSlow(timeS, limits.stepTimeS));
      return true;
    }
    if (!this.#excludes({ timeS, bytes })) return false;
    tally.bounded += size;
    return true;
  }

  #excludes({ timeS, bytes }: Bounds): boolean {
    const { best, front } = this.#search;
    const rivals = this.#rivals;
    if (!front.excludes(timeS, bytes) && !rivals.front.excludes(timeS, bytes)) return false;
    return best.excludes(timeS, bytes, this.#gpus) || rivals.best.excludes(timeS, bytes, this.#gpus);
  }

  /** Rank orders share their degrees. */
  #degreeRefusal(mesh: DenseMesh): Refusal | undefined {
    const { models } = this.#search;
    const key = `d${gridKeyOf(mesh)}/${mesh.microBatchSize}/${mesh.contextAlgorithm}`;
    const plain = { ...mesh, ...NO_EXPERTS, rankOrder: 'tp-cp-dp-pp' } as const;
    if (key !== this.#degrees.key) this.#degrees = { key, refusal: models.degreeRefusalOf(this.#plainPoint(plain)) };
    return this.#degrees.refusal;
  }

  /** Rules read a mesh through its degrees, and through one at a time of micro-batch, context algorithm, experts with rank order. */
  #denseRefusal(mesh: DenseMesh): Refusal | undefined {
    const plain: Mesh = { ...mesh, ...NO_EXPERTS, contextAlgorithm: 'ring', rankOrder: 'tp-cp-dp-pp' };
    const grid = gridKeyOf(mesh);
    return (
      this.#meshRefusal(`${grid}/b${mesh.microBatchSize}`, plain) ??
      this.#meshRefusal(`${grid}/${mesh.contextAlgorithm}`, { ...plain, contextAlgorithm: mesh.contextAlgorithm })
    );
  }

  #expertRefusal(mesh: Mesh): Refusal | undefined {
    const key = `${gridKeyOf(mesh)}/e${mesh.expert}/${mesh.expertTensor}/${mesh.rankOrder}`;
    return this.#meshRefusal(key, { ...mesh, contextAlgorithm: 'ring' });
  }

  #meshRefusal(key: string, mesh: Mesh): Refusal | undefined {
    return this.#keptRefusal(key, () => this.#plainPoint(mesh));
  }

  #plainPoint(mesh: Mesh): LayoutPoint {
    return plainPointOf(mesh, this.#cuts);
  }

  /** On a legal mesh, rules of degrees read a schedule through the pipeline's size and micro-batches, others through the pipeline alone, … */
  #pipelineRefusal(mesh: Mesh, { pipeline: choice, pipelineIndex }: NumberedPipeline): Refusal | undefined {
    const { models, space } = this.#search;
    const microBatches = space.globalBatchSize / (mesh.data * mesh.microBatchSize);
    const pointOf = (): LayoutPoint => {
      const point = pointOfMesh(mesh);
      const states = { ...PLAIN_STATES, shardGroup: point.shardGroup };
      const decided = decidedPoint(this.#cuts, this.#search, { point, choice: states, pipeline: choice });
      return decided ?? this.#plainPoint(mesh);
    };
    const ofDegrees = slotsOf(this.#pipelineRefusals, microBatches * MAX_PIPELINE + mesh.pipeline);
    const ofPipeline = slotsOf(this.#pipelineRefusals, mesh.pipeline);
    return (
      kept(ofDegrees, pipelineIndex, () => models.degreeRefusalOf(pointOf())) ??
      kept(ofPipeline, pipelineIndex, () => models.refusalOf(pointOf()))
    );
  }

  /** … and states through whether there is a pipeline, and what is sharded over how many. */
  #stateRefusal({ mesh, openings }: PassBranch, choice: StateChoice, index: number): Refusal | undefined {
    const replicas = mesh.data * mesh.context;
    const shape = (mesh.context > 1 ? 1 : 0) + (mesh.tensor > 1 ? 2 : 0);
    const known = slotsOf(this.#stateRefusals, openings);
    return kept(known, (index * 4 + shape) * 2 + (replicas > 1 ? 1 : 0), () =>
      this.#search.models.refusalOf(withStates(this.#plainPoint(mesh), choice, this.#search.space.model)),
    );
  }

  #keptRefusal(key: string, pointOf: () => LayoutPoint): Refusal | undefined {
    const known = this.#refusals.get(key);
    if (known !== undefined) return known ?? undefined;
    const refusal = this.#search.models.refusalOf(pointOf());
    this.#refusals.set(key, refusal ?? null);
    return refusal;
  }

  #ruleOut(rule: string, count: number, exampleOf: () => string): void {
    const { ruledOut } = this.#search.tally;
    const known = ruledOut.get(rule);
    if (known === undefined) ruledOut.set(rule, { count, example: exampleOf() });
    else known.count += count;
  }
}

/** Refusals by number; null: legal, undefined: nobody asked yet. */
type RefusalSlots = (Refusal | null | undefined)[];

function slotsOf<Key>(all: Map<Key, RefusalSlots>, key: Key): RefusalSlots {
  let slots = all.get(key);
  if (slots === undefined) {
    slots = [];
    all.set(key, slots);
  }
  return slots;
}

function kept(slots: RefusalSlots, index: number, refusalOf: () => Refusal | undefined): Refusal | undefined {
  const known = slots[index];
  if (known !== undefined) return known ?? undefined;
  const refusal = refusalOf();
  slots[index] = refusal ?? null;
  return refusal;
}

const MAX_PIPELINE = 32_769;

const PLAIN_STATES: StateChoice = {
  zeroStage: 0,
  shardGroup: 1,
  recompute: 'none',
  offloadOptimizer: 0,
  offloadActivations: 0,
};

function gridKeyOf({ tensor, context, pipeline, data }: DenseMesh): string {
  return `${tensor}/${context}/${pipeline}/${data}`;
}

/** A mesh with one even stage per rank. */
function plainPointOf(mesh: Mesh, cuts: StageCuts): LayoutPoint {
  return { ...pointOfMesh(mesh), ...cuts.of(mesh.pipeline, { chunks: 1, partition: 'even' }, () => []) };
}

/** Chooses the legal algorithm with the fastest attention; of equal ones the first, and the first also where none is legal. */
export function fastestAlgorithm(
  models: Pick<LayoutModels, 'attentionS' | 'degreeRefusalOf'>,
  cuts: StageCuts,
): AlgorithmOf {
  return (mesh, algorithms) => {
    const plain: Mesh = { ...mesh, ...NO_EXPERTS };
    const timed = algorithms.flatMap((contextAlgorithm) => {
      const point = plainPointOf({ ...plain, contextAlgorithm }, cuts);
      const isLegal = models.degreeRefusalOf(point) === undefined;
      return isLegal ? [{ contextAlgorithm, seconds: models.attentionS(point) }] : [];
    });
    const [first, ...others] = timed;
    if (first === undefined) return mesh.contextAlgorithm;
    return others.reduce((least, other) => (other.seconds < least.seconds ? other : least), first).contextAlgorithm;
  };
}

/** The whole layout, or undefined where it repeats one that the space lists before it. */
export function decidedPoint(
  cuts: StageCuts,
  search: Pick<LayoutSearch, 'space' | 'models'>,
  leaf: { readonly point: LayoutPoint; readonly choice: StateChoice; readonly pipeline: PipelineChoice },
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
