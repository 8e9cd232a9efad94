import { z } from 'zod';

/** Largest number of ranks of a layout: twice the 16,384 GPUs that the design requires. */
export const MAX_WORLD_SIZE = 32_768;

/** Largest number of GPUs that can be planned. It exceeds {@link MAX_WORLD_SIZE}, the limit for jobs. */
export const MAX_PLANNED_GPUS = 65_536;

/** Schema of a degree: the number of parts that something is split into. */
export const degree = z.int().min(1).max(MAX_PLANNED_GPUS);
