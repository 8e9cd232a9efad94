import { z } from 'zod';

/** An option by the name that the engine, or a fork of it, gives it. */
export const EngineOption = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .max(256)
      .regex(/^[A-Za-z_][A-Za-z0-9_.-]*$/, 'must be a name such as cross_entropy_loss_fusion or ddp.bucket_size')
      .describe('Its name in the engine, with dots between levels.'),
    value: z.string().max(4096).describe('As the engine reads it; true turns a switch on. Lists as JSON.'),
  })
  .meta({ id: 'EngineOption' });
export type EngineOption = z.infer<typeof EngineOption>;
