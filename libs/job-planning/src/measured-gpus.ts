/** What was measured of the GPUs of this cluster, and which of it does a job's plan stand on? */
import { ClusterProfile } from '@coxswain/planner';
import { unknownConstantsOf } from '@coxswain/planner/calibration';
import { z } from 'zod';
import { presetOf } from './preset-of.ts';

/** Together they are one environment variable, and Linux allows 128 KiB for one. */
const MOST_TYPES = 8;

/** Profiles as `coxswain calibrate` writes them, by type of GPU; read, by the planner's own names of these. */
export const MeasuredGpus = z
  .record(z.string().min(1).max(64), ClusterProfile)
  .refine((profiles) => Object.keys(profiles).length <= MOST_TYPES, `at most ${MOST_TYPES} types of GPU`)
  .transform((profiles, context): Readonly<Record<string, ClusterProfile>> => {
    const byPreset = new Map<string, ClusterProfile>();
    for (const [gpu, profile] of Object.entries(profiles)) {
      const preset = presetOf(gpu);
      const problem = preset === undefined ? isUnknown(gpu) : byPreset.has(preset) ? isTwice(gpu, preset) : undefined;
      if (problem !== undefined) context.addIssue({ code: 'custom', path: [gpu], message: problem });
      if (preset !== undefined) byPreset.set(preset, profile);
    }
    return Object.fromEntries(byPreset);
  });
export type MeasuredGpus = z.infer<typeof MeasuredGpus>;

const isUnknown = (gpu: string): string =>
  `"${gpu}" is no GPU that the planner knows: write one that it does, such as h100`;
const isTwice = (gpu: string, preset: string): string =>
  `"${gpu}" is another name of ${preset}, which has a profile: leave one out`;

/** A profile that this planner has words for; `words` says which it is, and what of it was left out. */
export interface Measured {
  readonly profile: ClusterProfile;
  readonly words: string;
}

/**
 * Of a type of GPU, as the planner calls it. Constants that a profile names and this release no longer has are left out, and said: one that was measured
 * for an older release must not stop all planning. Undefined where nothing was measured, or nothing of it is left.
 */
export function measuredOf(gpu: string, measured: MeasuredGpus): Measured | undefined {
  const asked = Object.hasOwn(measured, gpu) ? measured[gpu] : undefined;
  if (asked === undefined) return undefined;
  const unknown = new Set(unknownConstantsOf(asked));
  const factors = asked.factors.filter(({ constant }) => !unknown.has(constant));
  if (factors.length === 0) return undefined;
  const without = unknown.size === 0 ? '' : ` without ${[...unknown].join(', ')}, which this release does not have`;
  return { profile: { ...asked, factors }, words: `as measured on ${asked.name}${without}` };
}
