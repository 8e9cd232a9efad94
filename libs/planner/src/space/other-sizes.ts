/** Which other numbers of GPUs, and which other batches, divide well and are therefore worth a look? */
import { divisorsOf } from '@coxswain/layout';
import type { RunBase } from '../request/resolved-request.ts';

/** How many of each are looked at, so that advice has an end. */
const MOST = 8;
/** Fewer GPUs than this share of all are no way to be faster. */
const LEAST_GPUS = 0.5;
/** A batch that differs by more is another training. */
const LARGEST_CHANGE = 0.25;
const LONGEST_PIPELINE = 16;

/** Numbers below that of the run which whole tensor groups, pipelines and replicas of the batch make up; largest first. */
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

/** Batches near that of the run which its GPUs divide in a way that the asked one does not allow; nearest first. */
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
