import { z } from 'zod';

/** Largest gang a layout may describe. 16,384 GPUs is the bar of the design; one doubling above it is the limit. */
export const MAX_WORLD_SIZE = 32_768;

/** Largest number of GPUs that may be planned for. What is asked may be more than what is started. */
export const MAX_PLANNED_GPUS = 65_536;

/** Ways something is split. */
export const degree = z.int().min(1).max(MAX_PLANNED_GPUS);
