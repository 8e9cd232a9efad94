/** What do the layout rules know of a run? */
import { MAX_PLANNED_GPUS, type LayoutFacts } from '@coxswain/layout';
import { engineOfStack } from './engine-choices.ts';
import type { RunBase } from './resolved-request.ts';

export function layoutFactsOf(base: RunBase, microBatchSize: number): LayoutFacts {
  const engine = engineOfStack(base.stack);
  return {
    ...base.model,
    globalBatchSize: base.globalBatchSize,
    sequenceLength: base.sequenceLength,
    microBatchSize,
    gpus: base.cluster.gpus,
    mostRanks: MAX_PLANNED_GPUS,
    gpusPerNode: base.cluster.gpusPerNode,
    scaleUpDomainGpus: base.cluster.scaleUpDomainGpus,
    ...(engine === undefined ? {} : { engine }),
  };
}
