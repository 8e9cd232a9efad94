import { z } from 'zod';

const MIB = 1_048_576;

/** How much of the logs of ranks is kept beside the checkpoints of a job. */
export const KeptLogBounds = z
  .strictObject({
    rankBytes: z
      .int()
      .min(0)
      .max(1024 * MIB)
      .default(16 * MIB)
      .describe('Newest bytes of each rank and attempt; 0: no logs are kept.'),
    jobBytes: z
      .int()
      .min(MIB)
      .max(1_048_576 * MIB)
      .default(8_192 * MIB)
      .describe('All attempts of a job. The oldest attempts are removed first. One attempt uses at most half.'),
    projectBytes: z
      .int()
      .min(MIB)
      .max(16_777_216 * MIB)
      .default(65_536 * MIB)
      .describe('All jobs of a namespace whose checkpoints are at the same path of a claim or bucket.'),
  })
  .describe('How much of the logs of ranks is kept beside the checkpoints of a job.');
export type KeptLogBounds = z.infer<typeof KeptLogBounds>;
