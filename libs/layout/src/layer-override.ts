import { z } from 'zod';
import { degree } from './degree.ts';

/** Consecutive layers, the embedding or the output layer, divided differently from the others (Galvatron). */
export const LayerOverride = z
  .strictObject({
    part: z.enum(['layers', 'embedding', 'output']).optional().describe('Absent: layers.'),
    firstLayer: z.int().min(0).max(1023).optional().describe('First layer of the run, counted from 0.'),
    lastLayer: z.int().min(0).max(1023).optional().describe('Last layer of the run, itself included.'),
    tensorParallelDegree: degree.optional().describe('For these layers. Absent: the value of the layout.'),
    tensorRanks: z
      .enum(['consecutive', 'strided'])
      .optional()
      .describe('Which ranks form a tensor group. Absent: consecutive.'),
    contextParallelDegree: degree.optional().describe('For these layers. Absent: the value of the layout.'),
    expertParallelDegree: degree.optional().describe('For these layers. Absent: the value of the layout.'),
    expertTensorParallelDegree: degree.optional().describe('For these layers. Absent: the value of the layout.'),
    zeroStage: z.int().min(0).max(3).optional().describe('For these layers. Absent: the value of the layout.'),
    recompute: z
      .boolean()
      .optional()
      .describe('Activations of these layers are recomputed in the backward pass. Absent: as in the layout.'),
    sequence: z
      .enum(['megatron', 'ulysses'])
      .optional()
      .describe('How tokens are split in addition to contextParallelDegree.'),
  })
  .meta({ id: 'LayerOverride', description: 'Layers that are divided differently from the others.' });
export type LayerOverride = z.infer<typeof LayerOverride>;
