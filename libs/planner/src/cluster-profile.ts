/** How does one cluster differ from what its GPU type usually does? Measured there, and multiplied onto the constants of the time model. */
import { z } from 'zod';

/** Largest factor, and one over the smallest: a CPU that stands for a GPU is far from any. */
const MAX_FACTOR = 10_000;

export const ProfileFactor = z
  .strictObject({
    constant: z.string().min(1).max(60).describe('Name of a constant of the time model.'),
    factor: z
      .number()
      .min(1 / MAX_FACTOR)
      .max(MAX_FACTOR),
    engine: z.string().min(1).max(100).optional().describe('Holds for this family of engines alone; absent: for all.'),
    isOfHost: z
      .boolean()
      .optional()
      .describe('Measured with plain PyTorch on the host: holds for engines that the planner has no constants of.'),
  })
  .meta({ id: 'ProfileFactor' });
export type ProfileFactor = z.infer<typeof ProfileFactor>;

export const ClusterProfile = z
  .strictObject({
    name: z.string().min(1).max(120).describe('Where and when it was measured; answers that use it say it.'),
    factors: z.array(ProfileFactor).min(1).max(128),
  })
  .meta({
    id: 'ClusterProfile',
    description: 'What `coxswain calibrate` found: factors on constants of the time model.',
  });
export type ClusterProfile = z.infer<typeof ClusterProfile>;
