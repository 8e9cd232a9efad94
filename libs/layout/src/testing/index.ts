import type { ParallelLayout } from '../parallel-layout.ts';

/** A layout of one rank, with the given fields replaced. */
export function aLayout(overrides: Partial<ParallelLayout> = {}): ParallelLayout {
  return { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 1, ...overrides };
}
