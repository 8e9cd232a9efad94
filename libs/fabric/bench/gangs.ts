/** The layouts that the bench places, 512 GPUs each. */
import type { ParallelLayout } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';

export interface BenchGang {
  readonly name: string;
  readonly layout: ParallelLayout;
}

export const GANGS: readonly BenchGang[] = [
  {
    name: 'Llama-70B TP8 PP4 DP16',
    layout: aLayout({ tensorParallelDegree: 8, pipelineParallelDegree: 4, dataParallelDegree: 16 }),
  },
  {
    name: 'Llama-405B TP8 CP2 PP8 DP4',
    layout: aLayout({
      tensorParallelDegree: 8,
      contextParallelDegree: 2,
      pipelineParallelDegree: 8,
      dataParallelDegree: 4,
    }),
  },
  {
    name: 'MoE EP64 PP8',
    layout: aLayout({
      tensorParallelDegree: 1,
      pipelineParallelDegree: 8,
      dataParallelDegree: 64,
      expert: { expertParallelDegree: 64 },
    }),
  },
];

/** Eight pods: few enough to try every placement. */
export const SMALL_GANG: BenchGang = {
  name: 'TP8 DP4 PP2',
  layout: aLayout({ tensorParallelDegree: 8, pipelineParallelDegree: 2, dataParallelDegree: 4 }),
};
