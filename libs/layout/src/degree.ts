import { z } from 'zod';

/** Largest gang a layout may describe. 16,384 GPUs is the bar of the design; one doubling above it is the limit. */
export const MAX_WORLD_SIZE = 32_768;

/** Ways something is split. */
export const degree = z.int().min(1).max(MAX_WORLD_SIZE);
