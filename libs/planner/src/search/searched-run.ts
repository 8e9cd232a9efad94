/** Values that all layouts of one run share, computed once per search. */
import type { CandidateLayout, RunFacts } from '../facts.ts';
import { parametersOf, type ModelParameters } from '../memory/parameters.ts';
import type { RunBase } from '../request/resolved-request.ts';
import type { TimeConstants } from '../time/constants.ts';
import { speedsOfIsland } from '../time/islands.ts';
import { kernelFacts, type KernelFacts } from '../time/kernels.ts';

/** A run with values that its layouts share. */
export interface SearchedRun {
  readonly base: RunBase;
  readonly constants: TimeConstants;
  readonly parameters: ModelParameters;
  readonly kernels: KernelFacts;
  /** How many layers there are of each kind (`ModelParameters.kinds`). */
  readonly layersOfKind: readonly number[];
  /** Factor on the step time for waits between GPUs. */
  readonly jitter: number;
  /** Speeds of the fastest and the slowest island relative to the first. */
  readonly fastest: number;
  readonly slowest: number;
}

/** Prepares a run for a search. */
export function searchedRunOf(base: RunBase, constants: TimeConstants): SearchedRun {
  const { cluster, model } = base;
  const parameters = parametersOf(model);
  const { kinds, kindOfLayer } = parameters;
  const speeds = (cluster.islands ?? []).flatMap(speedsOfIsland);
  return {
    base,
    constants,
    parameters,
    kernels: kernelFacts(cluster.gpu, base.precision, constants),
    layersOfKind: kinds.map((_, kind) => kindOfLayer.filter((of) => of === kind).length),
    jitter: 1 + constants.jitterPerDoubling * Math.log2(Math.max(1, cluster.gpus / cluster.gpusPerNode)),
    fastest: Math.max(1, ...speeds),
    slowest: Math.min(1, ...speeds),
  };
}

/** The run of one layout. */
export function runFactsOf({ base }: SearchedRun, candidate: CandidateLayout): RunFacts {
  return { ...base, candidate };
}

/** Micro-batches of one replica; a fraction if the batch does not divide. */
export function microBatchesOf({ base }: SearchedRun, candidate: CandidateLayout): number {
  return base.globalBatchSize / (candidate.microBatchSize * candidate.data);
}
