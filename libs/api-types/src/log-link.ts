import { z } from 'zod';
import { fillLink, isLinkTemplate, NO_LINK_TEMPLATE } from './link-template.ts';

/** What a template of a link to the whole log may name, as `{job}`. */
type LogLinkFacts = Readonly<Record<'namespace' | 'job' | 'attempt' | 'rank', string>>;

/** The address of the log of a rank. */
export function fillLogLink(template: string, facts: LogLinkFacts): string {
  return fillLink(template, { ...facts });
}

/** A template of a link to the whole log in another system. No placeholder is in its host. */
export const LogLink = z
  .string()
  .refine(isLinkTemplate, NO_LINK_TEMPLATE)
  .describe(
    'Link to the whole logs in another system, on the page of a job; {namespace}, {job}, {attempt} and {rank} are replaced. Unset: none.',
  );
