import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** The key of TLS that the API shows to the receiver, and the authorities that the receiver’s certificate may come from; absent: those of Node.js. */
export interface ReceiverTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Where entries of the audit are sent. */
export type AuditReceiver = { readonly tls: ReceiverTls } & (
  | {
      readonly form: 'webhook';
      readonly url: string;
      /** Begins with `whsec_`. */
      readonly secret: string;
      /** Value of the header Authorization. */
      readonly authorization?: string;
    }
  | { readonly form: 'syslog'; readonly host: string; readonly port: number }
);

/** How long the audit is kept, and where it goes beside that. */
export interface AuditConfig {
  readonly auditRetentionDays: number;
  /** Undefined: it stays in the database. */
  readonly auditReceiver: AuditReceiver | undefined;
}

/** Variables of the audit. */
export const AuditEnvironment = z.object({
  COXSWAIN_AUDIT_RETENTION_DAYS: z.coerce
    .number()
    .int()
    .min(7)
    .max(3_650)
    .default(365)
    .describe('After how many days an entry of the audit is removed.'),
  COXSWAIN_AUDIT_PUSH_URL: z
    .string()
    .max(2_000)
    .optional()
    .describe(
      'Where each entry of the audit is sent: https://siem.example.com/coxswain or syslog+tls://siem.example.com:6514. Absent: nowhere.',
    ),
  COXSWAIN_AUDIT_PUSH_DIRECTORY: z
    .string()
    .min(1)
    .max(4_096)
    .optional()
    .describe(
      'Directory with the files signing-secret (webhook), authorization (webhook, optional), and ca.crt, tls.crt and tls.key (optional).',
    ),
});

/** Port of syslog over TLS, RFC 5425. */
const SYSLOG_TLS_PORT = 6514;
/** Bytes of a key of HMAC-SHA256, as Standard Webhooks asks for them. */
const SECRET_BYTES = { least: 24, most: 64 };

/** Throws one error with all that is missing or wrong, and with no content of a file. */
export function auditConfigOf(values: z.infer<typeof AuditEnvironment>): AuditConfig {
  const { COXSWAIN_AUDIT_PUSH_URL: url, COXSWAIN_AUDIT_RETENTION_DAYS: auditRetentionDays } = values;
  if (url === undefined) return { auditRetentionDays, auditReceiver: undefined };
  const faults: string[] = [];
  const read = (name: string): string | undefined => contentOf(values.COXSWAIN_AUDIT_PUSH_DIRECTORY, name);
  const auditReceiver = receiverOf(url, { read, faults });
  if (auditReceiver === undefined || faults.length > 0)
    throw new Error(`the environment cannot be used: ${faults.join('; ')}`);
  return { auditRetentionDays, auditReceiver };
}

interface Reading {
  readonly read: (name: string) => string | undefined;
  /** What was found wrong. */
  readonly faults: string[];
}

function receiverOf(text: string, reading: Reading): AuditReceiver | undefined {
  const { read, faults } = reading;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const tls = tlsOf(reading);
  if (url?.protocol === 'https:') return { form: 'webhook', url: text, tls, ...webhookKeysOf(url, reading) };
  if (url?.protocol === 'syslog+tls:' && url.hostname !== '') {
    const rest = [url.username, url.password, url.pathname.replace('/', ''), url.search, url.hash];
    if (rest.some((part) => part !== ''))
      faults.push(
        'COXSWAIN_AUDIT_PUSH_URL: syslog has a host and a port alone, such as syslog+tls://siem.example.com:6514',
      );
    if (read('signing-secret') !== undefined)
      faults.push('signing-secret of COXSWAIN_AUDIT_PUSH_DIRECTORY: syslog has no signature; remove the file');
    const host = url.hostname.replace(/^\[|\]$/g, '');
    return { form: 'syslog', host, port: url.port === '' ? SYSLOG_TLS_PORT : Number(url.port), tls };
  }
  faults.push(
    'COXSWAIN_AUDIT_PUSH_URL: must be https://… for a webhook, or syslog+tls://host:port; entries are not sent without TLS',
  );
  return undefined;
}

function webhookKeysOf(
  url: URL,
  { read, faults }: Reading,
): { readonly secret: string; readonly authorization?: string } {
  if (url.username !== '' || url.password !== '' || url.hash !== '')
    faults.push(
      'COXSWAIN_AUDIT_PUSH_URL: holds a user, a password or a fragment; put credentials into the file authorization',
    );
  const secret = read('signing-secret') ?? '';
  const bytes = /^whsec_[A-Za-z0-9+/]+=*$/.test(secret) ? Buffer.from(secret.slice(6), 'base64').byteLength : 0;
  if (bytes < SECRET_BYTES.least || bytes > SECRET_BYTES.most)
    faults.push(
      `signing-secret of COXSWAIN_AUDIT_PUSH_DIRECTORY: must be whsec_ and the base64 of ${SECRET_BYTES.least} to ${SECRET_BYTES.most} bytes, such as "whsec_$(openssl rand -base64 32)"`,
    );
  const authorization = read('authorization');
  if (authorization === undefined) return { secret };
  if (!/^[ -~]{1,4096}$/.test(authorization))
    faults.push('authorization of COXSWAIN_AUDIT_PUSH_DIRECTORY: must be one line of ASCII, such as "Splunk <token>"');
  return { secret, authorization };
}

function tlsOf({ read, faults }: Reading): ReceiverTls {
  const [ca, cert, key] = ['ca.crt', 'tls.crt', 'tls.key'].map((name) => {
    const pem = read(name);
    if (pem !== undefined && !pem.startsWith('-----BEGIN '))
      faults.push(`${name} of COXSWAIN_AUDIT_PUSH_DIRECTORY: must be PEM`);
    return pem;
  });
  if ((cert === undefined) !== (key === undefined))
    faults.push('COXSWAIN_AUDIT_PUSH_DIRECTORY: tls.crt and tls.key are needed together, or neither');
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

/** Undefined: there is no such file. */
function contentOf(directory: string | undefined, name: string): string | undefined {
  const path = directory === undefined ? undefined : join(directory, name);
  return path === undefined || !existsSync(path) ? undefined : readFileSync(path, 'utf8').trim();
}
