/** Addresses of other systems that an administrator names once, with placeholders such as `{job}`. */

/** The template with its placeholders replaced by values, which are encoded for a URL. Other words in braces stay. */
export function fillLink(template: string, facts: Readonly<Record<string, string>>): string {
  return Object.entries(facts).reduce(
    (link, [name, value]) => link.replaceAll(`{${name}}`, encodeURIComponent(value)),
    template,
  );
}

const HOST = /^https?:\/\/[^/{}?#\s]+(?:[/?#]|$)/;

/** Whether it is an address of HTTP whose host has no placeholder. */
export function isLinkTemplate(template: string): boolean {
  return HOST.test(template) && URL.canParse(template.replaceAll(/\{\w+\}/g, '1'));
}

export const NO_LINK_TEMPLATE =
  'must be an address such as https://grafana.example.com/explore?job={job}, without a placeholder in the host';
