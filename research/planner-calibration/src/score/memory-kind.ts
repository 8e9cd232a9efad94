/** Which peak a published memory figure is, and what is predicted for it. */
import { GIB_BYTES } from '@coxswain/units';
import type { PredictedMemory } from './predictor.ts';

/** Kinds of peak memory that are published. */
export const MEMORY_PEAKS = ['allocated', 'reserved', 'device'] as const;
/** `torch.cuda.max_memory_allocated`, `max_memory_reserved`, or what nvidia-smi shows. */
export type MemoryPeak = (typeof MEMORY_PEAKS)[number];

/** Papers print the allocator's peak unless they say otherwise; chronicles and monitors of operators note what nvidia-smi shows. */
export function memoryPeakOf(memKind: string): MemoryPeak {
  if (/reserved/i.test(memKind)) return 'reserved';
  if (/allocated/i.test(memKind)) return 'allocated';
  return /smi|as noted|GPU memory|percent|max over/i.test(memKind) ? 'device' : 'allocated';
}

/** Predicted peak of one kind, in GiB per GPU. */
export function predictedGib(memory: PredictedMemory, peak: MemoryPeak): number {
  if (peak === 'reserved') return memory.peakReservedBytes / GIB_BYTES;
  return (peak === 'device' ? memory.deviceUsedBytes : memory.peakAllocatedBytes) / GIB_BYTES;
}
