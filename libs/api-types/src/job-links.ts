/** Links from the page of a job to other systems, such as TensorBoard, Grafana, or an experiment tracker. */
import { z } from 'zod';
import { fillLink, isLinkTemplate, NO_LINK_TEMPLATE } from './link-template.ts';

/** More would be no help on a page. */
const MOST_LINKS = 10;

/** What a template may name, as `{job}`. `uid`: of the TrainingJob, by which runs of experiment trackers are named. */
type JobLinkFacts = Readonly<Record<'project' | 'namespace' | 'job' | 'uid' | 'attempt', string>>;

/** A title, and the template of an address. No placeholder is in its host. */
export const JobLink = z
  .object({
    title: z.string().min(1).max(40).describe('Words of the link.'),
    template: z
      .string()
      .max(2_000)
      .refine(isLinkTemplate, NO_LINK_TEMPLATE)
      .describe('Address with {project}, {namespace}, {job}, {uid} and {attempt} to be replaced.'),
  })
  .meta({ id: 'JobLink' });
export type JobLink = z.infer<typeof JobLink>;

/** Links in the order in which they are shown. */
export const JobLinks = z.array(JobLink).max(MOST_LINKS);

/** The address for one job. */
export function fillJobLink({ template }: JobLink, facts: JobLinkFacts): string {
  return fillLink(template, { ...facts });
}
