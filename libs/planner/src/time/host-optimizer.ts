/** Seconds per step that an optimizer takes whose states are on the host: bytes over PCIe, and the update on the CPU. */
import { microBatches, type RunFacts } from '../facts.ts';
import { COEFFICIENTS } from './constants.ts';

const HALF_BYTES = 2;
const FP32_BYTES = 4;

/** @param parameters whose states are on the host, of one rank */
export function hostOptimizerS(run: RunFacts, parameters: number): number {
  if (parameters === 0) return 0;
  return (
    (parameters * movedBytesOf(run)) / hostCopyBytesPerS(run) +
    (run.candidate.zeroImplementation === 'deepspeed'
      ? (parameters * COEFFICIENTS.deepspeedHostBytes) / (COEFFICIENTS.deepspeedHostBytesPerS / ranksPerNode(run))
      : (parameters * COEFFICIENTS.hostOptimizerBytes) / COEFFICIENTS.hostBytesPerS)
  );
}

/**
 * Bytes over PCIe per parameter. Most engines move a gradient of 2 bytes down once a step and a weight of 2 bytes up. DeepSpeed keeps the sum of gradients on
 * the host: in ZeRO-2 each micro-batch but the first fetches it, and each but the last stores it; in ZeRO-3 each does both. The last one stores fp32. ZeRO-1
 * and ZeRO-2 send fp32 weights up, ZeRO-3 rounds them on the host (runtime/zero/stage_1_and_2.py, `async_accumulate_grad_in_cpu_via_gpu` and `step`;
 * stage3.py, `partition_grads` and `_reassign_or_swap_out_partitioned_parameters`; v0.14.2).
 */
function movedBytesOf(run: RunFacts): number {
  const { zeroStage, zeroImplementation } = run.candidate;
  if (zeroImplementation !== 'deepspeed') return 2 * HALF_BYTES;
  const times = Math.max(1, microBatches(run));
  if (zeroStage === 3) return 2 * HALF_BYTES * times + FP32_BYTES + HALF_BYTES;
  return 2 * HALF_BYTES * (zeroStage === 2 ? times - 1 : 0) + 2 * FP32_BYTES;
}

/** Memory that is not page-locked is copied through a buffer of the driver, by the CPU. */
function hostCopyBytesPerS({ cluster, pageableHostMemory }: RunFacts): number {
  const pcieBytesPerS = cluster.gpu.pcieGbPerS * 1e9;
  return pageableHostMemory === true ? Math.min(COEFFICIENTS.pageableBytesPerS, pcieBytesPerS) : pcieBytesPerS;
}

/** Ranks of a node share the bandwidth of its memory. */
function ranksPerNode({ cluster }: RunFacts): number {
  return Math.min(cluster.gpus, cluster.gpusPerNode);
}
