/** Measured differences between one cluster and the usual performance of its GPU type, as factors on the constants of the time model. */
import { z } from 'zod';

/** Largest factor; the smallest is its inverse. The range covers CPUs that simulate GPUs in tests. */
const MAX_FACTOR = 10_000;

/** A factor on one constant of the time model. */
export const ProfileFactor = z
  .strictObject({
    constant: z.string().min(1).max(60).describe('Name of a constant of the time model.'),
    factor: z
      .number()
      .min(1 / MAX_FACTOR)
      .max(MAX_FACTOR),
    engine: z.string().min(1).max(100).optional().describe('Engine family that the factor applies to. Absent: all.'),
    isOfHost: z
      .boolean()
      .optional()
      .describe('Measured with plain PyTorch on the host; applies to engines without constants in the planner.'),
  })
  .meta({ id: 'ProfileFactor' });
export type ProfileFactor = z.infer<typeof ProfileFactor>;

/** Factors that `coxswain calibrate` measured on one cluster. */
export const ClusterProfile = z
  .strictObject({
    name: z.string().min(1).max(120).describe('Where and when it was measured; answers that use the profile name it.'),
    factors: z.array(ProfileFactor).min(1).max(128),
  })
  .meta({
    id: 'ClusterProfile',
    description: 'Factors on constants of the time model, measured by `coxswain calibrate`.',
  });
export type ClusterProfile = z.infer<typeof ClusterProfile>;
