import { z } from 'zod';

/** What a template of a link to the whole log may name, as `{job}`. */
const LOG_LINK_PLACEHOLDERS = ['namespace', 'job', 'attempt', 'rank'] as const;

/** Values for the placeholders. */
type LogLinkFacts = Readonly<Record<(typeof LOG_LINK_PLACEHOLDERS)[number], string>>;

/** The template with its placeholders replaced by values, which are encoded for a URL. */
export function fillLogLink(template: string, facts: LogLinkFacts): string {
  return LOG_LINK_PLACEHOLDERS.reduce(
    (link, name) => link.replaceAll(`{${name}}`, encodeURIComponent(facts[name])),
    template,
  );
}

/** A template of a link to the whole log in another system. No placeholder is in its host. */
export const LogLink = z
  .string()
  .refine(
    isLogLink,
    'must be an address such as https://grafana.example.com/explore?job={job}, without a placeholder in the host',
  )
  .describe(
    'Link to the whole logs in another system, on the page of a job; {namespace}, {job}, {attempt} and {rank} are replaced. Unset: none.',
  );

function isLogLink(template: string): boolean {
  const host = /^https?:\/\/[^/{}?#\s]+(?:[/?#]|$)/;
  return (
    host.test(template) && URL.canParse(fillLogLink(template, { namespace: 'n', job: 'j', attempt: '1', rank: '0' }))
  );
}
