/**
 * The interface between the search and the models of time, memory and rules.
 *
 * Every bound is a lower bound of all layouts of its branch, which makes the search exact; `run-models.spec.ts` checks it. All functions are pure. A candidate
 * has defaults for choices that its level of the search leaves open.
 */
import type { CandidateLayout, StagePart } from '../facts.ts';
import type { PipelineChoice } from '../space/search-space.ts';

/** A broken rule with its message. */
export interface Refusal {
  readonly rule: string;
  readonly message: string;
}

/** Lower bounds of time and memory of all layouts of a branch. */
export interface Bounds {
  readonly timeS: number;
  readonly bytes: number;
}

/** Models on the first levels of the search. */
export interface LayoutModels {
  /** The first broken rule. */
  refusalOf(candidate: CandidateLayout): Refusal | undefined;
  /** The first broken rule about degrees. It is called for many more candidates. */
  degreeRefusalOf(candidate: CandidateLayout): Refusal | undefined;
  /** Stages whose slowest one is as fast as possible. Equal answers are usually the same object. */
  balancedStages(candidate: CandidateLayout): readonly StagePart[];
  /** Seconds of one layer's attention on a mesh, to choose the context algorithm by. */
  attentionS(mesh: CandidateLayout): number;
  /** Bounds of a dense mesh with any expert degrees: each layout satisfies at least one of them. */
  denseBounds(mesh: CandidateLayout): readonly Bounds[];
  meshBounds(mesh: CandidateLayout): readonly Bounds[];
  /** Models of layouts with the states of `minMemory` or of another choice in its group of passes. */
  withPasses(minMemory: CandidateLayout): PassModels;
}

/** Models once mesh and passes are decided. */
export interface PassModels {
  readonly bounds: Bounds;
  /** Bounds of a schedule with any distribution of layers. */
  scheduleBounds(choice: Pick<PipelineChoice, 'schedule' | 'chunks'>): Bounds;
  /** See {@link LayoutModels}. */
  balancedStages(candidate: CandidateLayout): readonly StagePart[];
  withPipeline(minMemory: CandidateLayout): PipelineModels;
}

/** Models once the pipeline is decided. */
export interface PipelineModels {
  /** Least time of every choice of states in the group. */
  readonly leastS: number;
  /** A closer bound that takes longer to compute. */
  closerLeastS(): number;
  leastBytes(): number;
  /** A lower bound of one choice. `stateIndex` numbers the choices of the mesh. */
  timeBoundS(candidate: CandidateLayout, stateIndex: number): number;
  /** A closer bound that takes longer to compute. */
  closerBoundS(candidate: CandidateLayout, stateIndex: number): number;
  peakBytes(candidate: CandidateLayout, stateIndex: number): number;
  /** The step time. If `isUseful` rejects it, the result may be a smaller time that `isUseful` rejects too. */
  stepTimeS(candidate: CandidateLayout, stateIndex: number, isUseful?: (stepTimeS: number) => boolean): number;
}
