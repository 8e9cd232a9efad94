/** Facts of a run for layout rules. */
import { MAX_PLANNED_GPUS, type LayoutFacts } from '@coxswain/layout';
import { engineOfStack } from './engine-choices.ts';
import type { RunBase } from './resolved-request.ts';

/** The facts of a run that layout rules read. */
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
