/** Other numbers of GPUs and batch sizes that divide well, for advice. */
import { divisorsOf } from '@coxswain/layout';
import type { RunBase } from '../request/resolved-request.ts';

/** Largest number of alternatives. */
const MOST = 8;
/** Smallest share of the GPUs that is tried. */
const LEAST_GPUS = 0.5;
/** Largest relative change of the batch. */
const LARGEST_CHANGE = 0.25;
const LONGEST_PIPELINE = 16;

/** Smaller numbers of GPUs that tensor groups, pipelines and replicas of the batch can fill, largest first. */
export function fewerGpusOf({ model, cluster, globalBatchSize }: RunBase): readonly number[] {
  const found: number[] = [];
  const tensors = tensorsOf(model.attentionHeads, cluster.gpusPerNode);
  for (let gpus = cluster.gpus - 1; gpus >= Math.max(1, cluster.gpus * LEAST_GPUS) && found.length < MOST; gpus--) {
    const divides = tensors.some((tensor) => isPipelined(gpus / tensor, { layers: model.layers, globalBatchSize }));
    if (divides && isWholeNodes(gpus, cluster.gpusPerNode)) found.push(gpus);
  }
  return found;
}

/** More than a node is made of nodes. */
function isWholeNodes(gpus: number, perNode: number): boolean {
  return gpus <= perNode || gpus % perNode === 0;
}

/** Tensor groups inside a node. */
function tensorsOf(heads: number, perNode: number): readonly number[] {
  return divisorsOf(heads).filter((tensor) => tensor <= perNode);
}

/** Whether some pipeline leaves replicas that divide the batch. */
function isPipelined(ranks: number, run: { readonly layers: number; readonly globalBatchSize: number }): boolean {
  if (!Number.isInteger(ranks)) return false;
  for (let pipeline = 1; pipeline <= run.layers; pipeline++) {
    if (ranks % pipeline === 0 && run.globalBatchSize % (ranks / pipeline) === 0) return true;
  }
  return false;
}

/** Batch sizes near that of the run that allow more ways to divide the GPUs, nearest first. */
export function otherBatchesOf({ model, cluster, globalBatchSize }: RunBase): readonly number[] {
  const replicas = new Set<number>();
  for (const tensor of tensorsOf(model.attentionHeads, cluster.gpusPerNode)) {
    for (let pipeline = 1; pipeline <= Math.min(LONGEST_PIPELINE, model.layers); pipeline++) {
      const data = cluster.gpus / (tensor * pipeline);
      if (Number.isInteger(data) && globalBatchSize % data !== 0) replicas.add(data);
    }
  }
  const batches = new Set([...replicas].map((data) => Math.max(1, Math.round(globalBatchSize / data)) * data));
  const distance = (batch: number): number => Math.abs(batch - globalBatchSize);
  return [...batches]
    .filter((batch) => distance(batch) <= LARGEST_CHANGE * globalBatchSize)
    .sort((a, b) => distance(a) - distance(b) || a - b)
    .slice(0, MOST);
}
