/** On which smaller numbers of GPUs can an elastic job go on, and what does it ask for then? */
import type { TrainingJob } from '@coxswain/api-types';
import { acrossIslandsOf } from '@coxswain/fabric';
import type { SmallerSize } from '@coxswain/scheduling';
import { copiesOfFewerGpus, type ElasticSpec } from './elastic.ts';

/**
 * Fewer copies of the model as its plan divides it, the most GPUs first. The planner may choose another layout for that number, or find none: then the
 * job goes on with the next smaller one, or waits. A plan of one copy has no such size.
 */
export function smallerSizes({ spec, status }: TrainingJob): readonly SmallerSize[] {
  const { layout, gpus, noLayoutFor = Infinity } = status?.plan ?? {};
  if (spec.gpus === undefined || spec.minGpus === undefined || layout === undefined || gpus === undefined) return [];
  const { gpusPerNode } = spec.resources;
  const copies = layout.dataParallelDegree;
  return copiesOfFewerGpus(spec as ElasticSpec, { layout, gpus })
    .toReversed()
    .map((degree) => ({
      gpus: (gpus / copies) * degree,
      request: {
        layout: { ...layout, dataParallelDegree: degree },
        acrossIslands: acrossIslandsOf(spec.resources),
        ...(gpusPerNode === undefined ? {} : { gpusPerNode }),
      },
    }))
    .filter((size) => size.gpus < noLayoutFor);
}
