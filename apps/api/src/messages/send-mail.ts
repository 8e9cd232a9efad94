/** How does a message become a mail, and what came of that? */
import { setTimeout as delay } from 'node:timers/promises';
import nodemailer, { type Transport } from 'nodemailer';
import type { MailSettings } from '../config/mail-config.ts';
import type { Email } from '../webhooks/email-text.ts';
import { mailProblem } from '../webhooks/mail-rules.ts';
import { ATTEMPT_MS } from './post-message.ts';
import type { Answer } from './retry-rules.ts';

/** A mail to one recipient. */
export interface OutgoingMail {
  readonly to: string;
  /** The same in each attempt, so that a mail program shows a repeated mail once. */
  readonly id: string;
  readonly email: Email;
}

const ACCEPTED = 250;
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'smtp:': 587, 'smtps:': 465 };

/**
 * Hands the mail over once and says what came of that; never rejects. That the server accepted it does not mean that it arrived: what bounces goes to the address in
 * `from`.
 */
export async function sendMail(
  { to, id, email }: OutgoingMail,
  settings: MailSettings,
  {
    now,
    signal,
    attemptMs = ATTEMPT_MS,
  }: { readonly now: Date; readonly signal: AbortSignal; readonly attemptMs?: number },
): Promise<Answer> {
  // Rules may have changed since the endpoint was made.
  if (mailProblem(to, settings) !== undefined) return { trouble: 'mail to its address is not allowed any more' };
  const { from } = settings;
  const transport = transportTo(settings, attemptMs);
  const over = new AbortController();
  const ended = delay(attemptMs, undefined, { signal: AbortSignal.any([signal, over.signal]) }).then(
    (): Answer => ({ trouble: `the mail server gave no answer within ${attemptMs / 1000} s` }),
    (): Answer => ({ trouble: 'this program stopped meanwhile' }),
  );
  const sent = transport
    .sendMail({
      from,
      to,
      ...email,
      messageId: `<${id}@${from.split('@').at(-1)?.replace(/>$/, '') ?? 'coxswain'}>`,
      date: now,
      // RFC 3834: holiday replies are not sent to it.
      headers: { 'Auto-Submitted': 'auto-generated' },
    })
    .then(
      (): Answer => ({ status: ACCEPTED }),
      (error: unknown): Answer => answerOf(error),
    );
  try {
    return await Promise.race([sent, ended]);
  } finally {
    over.abort();
    transport.close();
  }
}

function transportTo({ smtpUrl, allowsPlain }: MailSettings, attemptMs: number): Transport {
  const { protocol, hostname, port, username, password } = new URL(smtpUrl);
  const isTls = protocol === 'smtps:';
  return nodemailer.createTransport({
    host: hostname,
    port: port === '' ? DEFAULT_PORTS[protocol] : Number(port),
    secure: isTls,
    requireTLS: !isTls && !allowsPlain,
    ...(username === '' ? {} : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: attemptMs,
    greetingTimeout: attemptMs,
    socketTimeout: attemptMs,
    // Nothing of a message names a file or a URL that is read.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

const WORDS: Readonly<Record<string, string>> = {
  EAUTH: 'the mail server refused user and password',
  ECONNECTION: 'the mail server could not be reached',
  EDNS: 'the name of the mail server has no address',
  ESOCKET: 'the mail server could not be reached',
  ETIMEDOUT: 'the mail server gave no answer in time',
  ETLS: 'the mail server offers no TLS, or its certificate is not trusted',
};

/** Of codes alone: texts of a mail server may name other people's addresses. A status of SMTP is no status of HTTP. */
function answerOf(error: unknown): Answer {
  const { code, responseCode } = error as { readonly code?: unknown; readonly responseCode?: unknown };
  if (code === 'EAUTH') return { trouble: WORDS['EAUTH'] ?? '' };
  if (typeof responseCode === 'number') return { trouble: `the mail server answered ${responseCode}` };
  return { trouble: (typeof code === 'string' ? WORDS[code] : undefined) ?? 'the mail server could not be reached' };
}
