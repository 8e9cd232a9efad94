import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** What the administrator says of recipients. */
export interface MailRules {
  /** Domains that may receive mail, such as `example.com`; empty: every domain. */
  readonly allowedDomains: readonly string[];
}

/** The server that takes mail, and in whose name it is sent. */
export interface MailSettings extends MailRules {
  /** `smtps://user:password@smtp.example.com:465`, or `smtp://…:587`, where TLS begins with STARTTLS. */
  readonly smtpUrl: string;
  /** Sender of every mail. */
  readonly from: string;
  /** Whether mail may go to a server without TLS. */
  readonly allowsPlain: boolean;
}

const text = z.string().min(1).max(1_000);

/** Variables by which messages become mail; none are needed where nothing is mailed. */
export const MailEnvironment = z.object({
  COXSWAIN_SMTP_URL_FILE: text
    .optional()
    .describe(
      'File with the URL of a mail server, such as smtps://user:password@smtp.example.com:465. Absent: no mail is sent.',
    ),
  COXSWAIN_MAIL_FROM: text
    .optional()
    .describe('Sender of every mail, such as coxswain@example.com; needed with a mail server.'),
  COXSWAIN_MAIL_ALLOWED_DOMAINS: z
    .string()
    .default('')
    .transform((domains) => domains.split(',').flatMap((one) => one.trim().toLowerCase() || []))
    .describe('Domains that may receive mail, separated by commas; empty: every domain.'),
  COXSWAIN_SMTP_ALLOW_PLAIN: z
    .stringbool()
    .default(false)
    .describe('Sends mail to a server without TLS too. Messages to it are not encrypted.'),
});

/** Undefined without a mail server. Throws with what is missing or wrong, and never with the URL, which has a password. */
export function mailConfigOf(values: z.infer<typeof MailEnvironment>): MailSettings | undefined {
  const { COXSWAIN_SMTP_URL_FILE: file, COXSWAIN_MAIL_FROM: from } = values;
  if (file === undefined) return undefined;
  if (from === undefined)
    throw new Error('COXSWAIN_MAIL_FROM is needed with COXSWAIN_SMTP_URL_FILE: the sender of mails');
  const smtpUrl = readFileSync(file, 'utf8').trim();
  if (!/^smtps?:\/\/./.test(smtpUrl) || !URL.canParse(smtpUrl))
    throw new Error(
      `${file} (COXSWAIN_SMTP_URL_FILE) must hold a URL such as smtps://user:password@smtp.example.com:465`,
    );
  return {
    smtpUrl,
    from,
    allowedDomains: values.COXSWAIN_MAIL_ALLOWED_DOMAINS,
    allowsPlain: values.COXSWAIN_SMTP_ALLOW_PLAIN,
  };
}
