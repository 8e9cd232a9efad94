import { z } from 'zod';
import { degree } from './degree.ts';

/** Consecutive layers, the embedding or the output layer, divided differently from the others (Galvatron). */
export const LayerOverride = z
  .strictObject({
    part: z.enum(['layers', 'embedding', 'output']).optional().describe('Absent: layers.'),
    firstLayer: z.int().min(0).max(1023).optional().describe('First layer of the run, counted from 0.'),
    lastLayer: z.int().min(0).max(1023).optional().describe('Last layer of the run, itself included.'),
    tensorParallelDegree: degree.optional(),
    tensorRanks: z
      .enum(['consecutive', 'strided'])
      .optional()
      .describe('Which ranks form a tensor group. Absent: consecutive.'),
    contextParallelDegree: degree.optional(),
    expertParallelDegree: degree.optional(),
    expertTensorParallelDegree: degree.optional(),
    zeroStage: z.int().min(0).max(3).optional(),
    recompute: z.boolean().optional(),
    sequence: z
      .enum(['megatron', 'ulysses'])
      .optional()
      .describe('How tokens are split in addition to contextParallelDegree.'),
  })
  .meta({ id: 'LayerOverride', description: 'Layers that are divided differently from the others.' });
export type LayerOverride = z.infer<typeof LayerOverride>;
