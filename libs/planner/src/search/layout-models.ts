/**
 * What does the search ask of the models? It knows neither seconds nor bytes of a layout by itself.
 *
 * Every bound is a promise: no layout of the branch that it is given for takes less. The search is exact because of it, and `run-models.spec.ts`
 * checks it. All answers are pure. A candidate holds defaults for what its level of the search leaves open.
 */
import type { CandidateLayout, StagePart } from '../facts.ts';
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
  refusalOf(candidate: CandidateLayout): Refusal | undefined;
  /** The first broken rule of those that read degrees only, which is asked of far more candidates. */
  degreeRefusalOf(candidate: CandidateLayout): Refusal | undefined;
  /** Stages of which the slowest is as fast as possible. The same object for the same answer, where that is cheap. */
  balancedStages(candidate: CandidateLayout): readonly StagePart[];
  /** Seconds of one layer's attention on a mesh, to choose the context algorithm by. */
  attentionS(mesh: CandidateLayout): number;
  /** Of every layout on a dense mesh, however experts are distributed: each of them keeps at least one of these bounds. */
  denseBounds(mesh: CandidateLayout): readonly Bounds[];
  meshBounds(mesh: CandidateLayout): readonly Bounds[];
  /** Of layouts whose states are those of `minMemory` or another choice of the same group of passes. */
  withPasses(minMemory: CandidateLayout): PassModels;
}

export interface PassModels {
  readonly bounds: Bounds;
  /** Of every way to distribute the layers for a schedule. */
  scheduleBounds(choice: Pick<PipelineChoice, 'schedule' | 'chunks'>): Bounds;
  /** Those of `LayoutModels`. */
  balancedStages(candidate: CandidateLayout): readonly StagePart[];
  withPipeline(minMemory: CandidateLayout): PipelineModels;
}

export interface PipelineModels {
  /** Least time of every choice of states in the group. */
  readonly leastS: number;
  /** The same, closer, where somebody wants to wait for it. */
  closerLeastS(): number;
  leastBytes(): number;
  /** A lower bound of one choice. `stateIndex` numbers the choices of the mesh. */
  timeBoundS(candidate: CandidateLayout, stateIndex: number): number;
  /** A closer one that takes longer to find. */
  closerBoundS(candidate: CandidateLayout, stateIndex: number): number;
  peakBytes(candidate: CandidateLayout, stateIndex: number): number;
  /** Of a layout that takes longer than is useful, which no longer one is again, maybe only a time that is not useful and not above its own. */
  stepTimeS(candidate: CandidateLayout, stateIndex: number, isUseful?: (stepTimeS: number) => boolean): number;
}
