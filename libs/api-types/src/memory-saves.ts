/** Saves in the memory of the pods: what a job asks for, and how one of them is named. */
import { MIB_BYTES, quantityOf } from '@coxswain/units';
import { z } from 'zod';
import { MemoryQuantity } from './field-names.ts';

/** Each rank keeps the newest two: while it writes one, the others may have only the one before. */
const KEPT_MEMORY_SAVES = 2;

/** What each rank saves in the memory of its pod beside the checkpoints. */
export const MemorySaves = z
  .strictObject({
    everySteps: z
      .int()
      .min(1)
      .max(1_000_000_000)
      .describe('Steps between two saves in memory. Each save stops the ranks while they copy their state.'),
    sizePerGpu: MemoryQuantity.describe(
      'Largest size of one save of one rank. Coxswain adds twice as much to the memory that pods request, because each rank keeps two. A rank whose state is larger saves no memory copy and says so in its log.',
    ),
  })
  .meta({ id: 'MemorySaves' });
export type MemorySaves = z.infer<typeof MemorySaves>;

/** A save in the memory of the pods that wrote it, of all their ranks. */
export const MemorySave = z
  .strictObject({
    incarnation: z
      .int()
      .min(1)
      .max(2 ** 31)
      .describe('Incarnation that saved it.'),
    step: z.int().min(0).max(Number.MAX_SAFE_INTEGER).describe('Its step.'),
  })
  .meta({ id: 'MemorySave' });
export type MemorySave = z.infer<typeof MemorySave>;

/** Name of a save below the folder of its rank: `2-50`. */
export function nameOfMemorySave({ incarnation, step }: MemorySave): string {
  return `${incarnation}-${step}`;
}

/** The save that a name stands for; undefined: the name is not one of a complete save. */
export function memorySaveOf(name: string): MemorySave | undefined {
  const [, incarnation, step] = /^(\d{1,10})-(\d{1,16})$/.exec(name) ?? [];
  return MemorySave.safeParse({ incarnation: Number(incarnation), step: Number(step) }).data;
}

/** What a job states of the host memory of its pods. */
interface StatedMemory {
  readonly resources: { readonly memoryPerGpu?: string | undefined };
  readonly checkpoint?: { readonly memory?: MemorySaves | undefined } | undefined;
}

/** What the operator passes to a launcher about saves in memory, in `POD_ENV.memorySaves`. */
export const MemorySaveBounds = z.object({
  everySteps: z.int().min(1),
  bytes: z.int().min(0).describe('Of one save of one rank.'),
});
export type MemorySaveBounds = z.infer<typeof MemorySaveBounds>;

/** The bounds that follow from a job; undefined: it keeps no saves in memory. */
export function memorySaveBounds({ checkpoint }: Pick<StatedMemory, 'checkpoint'>): MemorySaveBounds | undefined {
  const { memory } = checkpoint ?? {};
  if (memory === undefined) return undefined;
  return { everySteps: memory.everySteps, bytes: Math.ceil(quantityOf(memory.sizePerGpu) ?? 0) };
}

/** Bytes that one rank may take for its saves in memory; 0: the job keeps none. */
export function memorySaveBytesPerGpu(spec: Pick<StatedMemory, 'checkpoint'>): number {
  return KEPT_MEMORY_SAVES * (memorySaveBounds(spec)?.bytes ?? 0);
}

/**
 * Memory that a pod requests for each GPU: `resources.memoryPerGpu`, and room for the saves in memory, which count against the limit of the container.
 * undefined: the job states none.
 */
export function hostMemoryPerGpu(spec: StatedMemory): string | undefined {
  const { memoryPerGpu } = spec.resources;
  const saves = memorySaveBytesPerGpu(spec);
  if (memoryPerGpu === undefined || saves === 0) return memoryPerGpu;
  return `${Math.ceil(((quantityOf(memoryPerGpu) ?? 0) + saves) / MIB_BYTES)}Mi`;
}
