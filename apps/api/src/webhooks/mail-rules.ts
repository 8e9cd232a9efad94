/** Which mail addresses may messages go to? */
import type { MailRules } from '../config/mail-config.ts';

/** One address, without a name, comments or quotes, so that it can be no more than one recipient. */
const ADDRESS = /^[A-Za-z0-9._%+=-]{1,64}@((?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})\.)+[A-Za-z]{2,63})$/;

/** The recipient of `mailto:oncall@example.com`; undefined if the URL is another one. */
export function recipientOf(url: string): string | undefined {
  return /^mailto:/i.test(url) ? url.slice('mailto:'.length) : undefined;
}

/** Why mail cannot go to the address; undefined if it can. `rules` undefined: this installation sends no mail. */
export function mailProblem(recipient: string, rules: MailRules | undefined): string | undefined {
  if (rules === undefined)
    return 'is a mail address, and this installation sends no mail; an administrator can name a server (COXSWAIN_SMTP_URL_FILE)';
  const domain = ADDRESS.exec(recipient)?.[1]?.toLowerCase();
  if (domain === undefined) return 'is no single mail address; give one such as mailto:oncall@example.com';
  const { allowedDomains } = rules;
  if (allowedDomains.length > 0 && !allowedDomains.includes(domain))
    return `names a domain that this installation sends no mail to (COXSWAIN_MAIL_ALLOWED_DOMAINS); those it does: ${allowedDomains.join(', ')}`;
  return undefined;
}
