/** Predicts the GPU memory of each pipeline rank, and whether it fits. */
import { GIB_BYTES } from '@coxswain/units';
import { microBatches, type RunFacts } from '../facts.ts';
import type { MemoryVerdict } from '../contract.ts';
import { memoryFactsOf } from './memory-facts.ts';
import { deviceUsedBytesOf, hostCapacityBytesOf, memoryGibOf, verdictOf } from './memory-verdict.ts';
import { pipelineLoadOf } from './pipeline-load.ts';
import { rankMemoryOf, type RankMemory } from './rank-memory.ts';

/** Predicted memory of a run. */
export interface MemoryPrediction {
  /** One per pipeline rank. */
  readonly stages: readonly RankMemory[];
  /** Index into `stages` of the rank that needs most. */
  readonly worstStage: number;
  /** Peak of allocated memory (`torch.cuda.max_memory_allocated`). */
  readonly peakAllocatedBytes: number;
  /** Peak of memory that the allocator reserves, fragments included (`max_memory_reserved`). */
  readonly peakReservedBytes: number;
  /** What nvidia-smi shows: reserved, CUDA context and communicators. */
  readonly deviceUsedBytes: number;
  readonly hostBytesPerGpu: number;
  readonly capacityBytes: number;
  readonly verdict: MemoryVerdict;
  /** Capacity minus `deviceUsedBytes`; negative if it does not fit. */
  readonly marginBytes: number;
  readonly sentence: string;
}

/** Allocator peak of the rank that needs most, in bytes. Faster than `predictMemory`, for searches. */
export function peakAllocatedBytesOf(run: RunFacts): number {
  const memory = memoryFactsOf(run);
  let peak = 0;
  for (const load of pipelineLoadOf(run.model, run.candidate, microBatches(run)).heaviest) {
    peak = Math.max(peak, rankMemoryOf(memory, load).totalBytes);
  }
  return peak;
}

/** Options of {@link predictMemory}. */
export interface MemoryOptions {
  /** Share of the capacity that must stay free for the verdict 'fits'. */
  readonly marginShare?: number;
}

/** Predicts the memory of a run on each pipeline rank, with a verdict. */
export function predictMemory(run: RunFacts, options: MemoryOptions = {}): MemoryPrediction {
  const memory = memoryFactsOf(run);
  const stages = pipelineLoadOf(run.model, run.candidate, microBatches(run)).ranks.map((load) =>
    rankMemoryOf(memory, load),
  );
  const worstStage = stages.reduce(
    (worst, stage, index) => (stage.totalBytes > (stages[worst]?.totalBytes ?? 0) ? index : worst),
    0,
  );
  const peakAllocatedBytes = stages[worstStage]?.totalBytes ?? 0;
  const capacityBytes = memoryGibOf(run.cluster) * GIB_BYTES;
  const deviceUsedBytes = deviceUsedBytesOf(peakAllocatedBytes, run.stack);
  const hostBytesPerGpu = stages.reduce((most, stage) => Math.max(most, stage.hostBytes), 0);
  const hostCapacityBytes = hostCapacityBytesOf(run.cluster);
  const fitsHost = hostBytesPerGpu <= hostCapacityBytes;
  const verdict = fitsHost ? verdictOf(peakAllocatedBytes, run, options.marginShare) : 'doesNotFit';
  return {
    stages,
    worstStage,
    peakAllocatedBytes,
    peakReservedBytes: peakAllocatedBytes * (1 + memory.profile.slackShare),
    deviceUsedBytes,
    hostBytesPerGpu,
    capacityBytes,
    verdict,
    marginBytes: capacityBytes - deviceUsedBytes,
    sentence: fitsHost
      ? sentenceOf(verdict, deviceUsedBytes, capacityBytes)
      : `offloads ${gib(hostBytesPerGpu)} GiB per GPU, but the host has ${gib(hostCapacityBytes)} GiB per GPU: does not fit`,
  };
}

const SAID: Readonly<Record<MemoryVerdict, string>> = { fits: 'fits', tight: 'is tight', doesNotFit: 'does not fit' };

const gib = (bytes: number): string => (bytes / GIB_BYTES).toFixed(1);

function sentenceOf(verdict: MemoryVerdict, usedBytes: number, capacityBytes: number): string {
  return `needs ${gib(usedBytes)} of ${gib(capacityBytes)} GiB per GPU: ${SAID[verdict]}`;
}
