/**
 * What does the search ask of the models? It knows neither seconds nor bytes of a layout by itself.
 *
 * Every bound is a promise: no layout of the branch that it is given for takes less. The search is exact because of it, and `run-models.spec.ts`
 * checks it. All answers are pure. A point holds defaults for what its level of the search leaves open.
 */
import type { LayoutPoint, StagePart } from '../facts.ts';
import type { PipelineChoice } from '../space/search-space.ts';

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

export interface LayoutModels {
  /** The first broken rule. */
  refusalOf(point: LayoutPoint): Refusal | undefined;
  /** The first broken rule of those that read degrees only, which is asked of far more points. */
  degreeRefusalOf(point: LayoutPoint): Refusal | undefined;
  /** Stages of which the slowest is as fast as possible. The same object for the same answer, where that is cheap. */
  balancedStages(point: LayoutPoint): readonly StagePart[];
  /** Seconds of one layer's attention on a mesh, to choose the context algorithm by. */
  attentionS(mesh: LayoutPoint): number;
  /** Of every layout on a dense mesh, however experts are distributed: each of them keeps at least one of these bounds. */
  denseBounds(mesh: LayoutPoint): readonly Bounds[];
  meshBounds(mesh: LayoutPoint): readonly Bounds[];
  /** Of layouts whose states are those of `minMemory` or another choice of the same group of passes. */
  withPasses(minMemory: LayoutPoint): PassModels;
}

export interface PassModels {
  readonly bounds: Bounds;
  /** Of every way to distribute the layers for a schedule. */
  scheduleBounds(choice: Pick<PipelineChoice, 'schedule' | 'chunks'>): Bounds;
  withPipeline(minMemory: LayoutPoint): PipelineModels;
}

export interface PipelineModels {
  /** Least time of every choice of states in the group. */
  readonly leastS: number;
  leastBytes(): number;
  /** A lower bound of one choice. */
  timeBoundS(point: LayoutPoint): number;
  /** A closer one that takes longer to find. */
  closerBoundS(point: LayoutPoint): number;
  /** `stateIndex` numbers the choices of the mesh. */
  peakBytes(point: LayoutPoint, stateIndex: number): number;
  stepTimeS(point: LayoutPoint): number;
}
