/** On which smaller numbers of GPUs can an elastic job go on, and what does it ask for then? */
import type { TrainingJob } from '@coxswain/api-types';
import { acrossIslandsOf } from '@coxswain/fabric';
import { isWhole, type ParallelLayout } from '@coxswain/layout';
import type { SmallerSize } from '@coxswain/scheduling';
import { copiesOfFewerGpus, type ElasticSpec } from './elastic.ts';

/**
 * Fewer copies of the model as its plan divides it, and numbers of GPUs for which the planner has found a layout; the most GPUs first. The nodes are
 * searched with the present layout on fewer GPUs. The planner may choose another layout for that number, or find none: then the job goes on with the
 * next smaller one, or waits.
 */
export function smallerSizes({ spec, status }: TrainingJob): readonly SmallerSize[] {
  const { layout, gpus, noLayoutFor = Infinity, sizes = [] } = status?.plan ?? {};
  if (spec.gpus === undefined || spec.minGpus === undefined || layout === undefined || gpus === undefined) return [];
  const { gpusPerNode } = spec.resources;
  const { minGpus } = spec;
  const ofCopies = copiesOfFewerGpus(spec as ElasticSpec, { layout, gpus }).map(
    (degree) => (gpus / layout.dataParallelDegree) * degree,
  );
  const found = sizes.map((size) => size.gpus).filter((fewer) => fewer < gpus && fewer >= minGpus);
  return [...new Set([...ofCopies, ...found])]
    .filter((fewer) => fewer < noLayoutFor)
    .sort((one, other) => other - one)
    .flatMap((fewer) => {
      const narrowed = onFewerGpus(layout, fewer / gpus);
      if (narrowed === undefined) return [];
      const request = { layout: searched(narrowed), acrossIslands: acrossIslandsOf(spec.resources) };
      return [{ gpus: fewer, request: { ...request, ...(gpusPerNode === undefined ? {} : { gpusPerNode }) } }];
    });
}

/** The layout with that share of its ranks: fewer copies, else also fewer pipeline stages; undefined if neither gives the number. Groups of a node stay whole. */
function onFewerGpus(layout: ParallelLayout, share: number): ParallelLayout | undefined {
  const { dataParallelDegree: copies, pipelineParallelDegree: stages } = layout;
  const parts = Math.round(copies * stages * share * 1e6) / 1e6;
  if (!Number.isInteger(parts) || parts < 1) return undefined;
  if (parts % stages === 0) return { ...layout, dataParallelDegree: parts / stages };
  const fewerStages = divisorsDownFrom(stages).find((degree) => parts % degree === 0 && parts / degree <= copies);
  if (fewerStages === undefined) return undefined;
  return { ...layout, dataParallelDegree: parts / fewerStages, pipelineParallelDegree: fewerStages };
}

/** Nodes are searched without experts and shards of states that do not divide so few ranks: the planner chooses others. */
function searched(layout: ParallelLayout): ParallelLayout {
  if (isWhole(layout)) return layout;
  const { expert: _experts, dataParallelShardDegree: _shards, ...rest } = layout;
  return rest;
}

function divisorsDownFrom(degree: number): readonly number[] {
  return Array.from({ length: degree }, (_, index) => degree - index).filter((divisor) => degree % divisor === 0);
}
