import { z } from 'zod';

/** What the campaign outside tells the one inside of its namespaces. */
export const CampaignPlan = z.strictObject({
  /** Everything is written below it. */
  directory: z.string(),
  /** Archives of images, each `<name>.tar`. */
  images: z.string(),
  /** Parent of all cgroups, relative to each hierarchy. */
  cgroup: z.string(),
  /** The chart of this checkout, and the one of an earlier revision. */
  chart: z.string(),
  earlierChart: z.string(),
  /** Tag of the images, and a second one of the same. */
  tag: z.string(),
  otherTag: z.string(),
  /** How long everything stays after the last step, for who wants to look. */
  holdSeconds: z.number().min(0),
});
export type CampaignPlan = z.infer<typeof CampaignPlan>;

/** Checks a plan that was read from JSON. Throws a ZodError. */
export function readPlan(value: unknown): CampaignPlan {
  return CampaignPlan.parse(value);
}
