import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from './config.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const WEBHOOK = 'https://siem.example.com/coxswain';
const PEM = '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----';
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-audit-config-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const read = (url: string, files: Readonly<Record<string, string>> = {}) => {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), `${text}\n`);
  const variables = { COXSWAIN_AUDIT_PUSH_URL: url, COXSWAIN_AUDIT_PUSH_DIRECTORY: directory };
  return readConfig({ DATABASE_URL: 'postgresql://coxswain@127.0.0.1/coxswain', ...variables }).auditReceiver;
};

describe('the receiver of the audit', () => {
  it.each<[string, string, Readonly<Record<string, string>>, unknown]>([
    ['is absent without a URL', '', {}, undefined],
    ['is a webhook', WEBHOOK, { 'signing-secret': SECRET }, { form: 'webhook', url: WEBHOOK, secret: SECRET, tls: {} }],
    [
      'has a header and an authority of its own',
      WEBHOOK,
      { 'signing-secret': SECRET, authorization: 'Bearer x', 'ca.crt': PEM },
      { form: 'webhook', url: WEBHOOK, secret: SECRET, authorization: 'Bearer x', tls: { ca: PEM } },
    ],
    ['is a server of syslog', 'syslog+tls://siem:601', {}, { form: 'syslog', host: 'siem', port: 601, tls: {} }],
    ['has the port of syslog over TLS', 'syslog+tls://[::1]', {}, { form: 'syslog', host: '::1', port: 6514, tls: {} }],
  ])('%s', (_sentence, url, files, want) => {
    expect(read(url, files)).toEqual(want);
  });

  it.each<[string, string, Readonly<Record<string, string>>, readonly RegExp[]]>([
    ['no TLS', 'http://siem', {}, [/must be https/]],
    ['no host', 'syslog+tls://', {}, [/must be https/]],
    ['no secret', WEBHOOK, {}, [/signing-secret/]],
    ['a path of syslog', 'syslog+tls://siem/x', {}, [/a host and a port alone/]],
    ['a secret of syslog', 'syslog+tls://siem', { 'signing-secret': SECRET }, [/has no signature/]],
    [
      'several faults, and names each',
      'https://root:hunter2@siem',
      { 'signing-secret': 'hunter2', authorization: 'a\nb', 'ca.crt': 'hunter2', 'tls.key': PEM },
      [
        /a user, a password/,
        /signing-secret.*24 to 64 bytes/,
        /authorization.*one line/,
        /ca\.crt.*PEM/,
        /needed together/,
      ],
    ],
  ])('is refused with %s', (_what, url, files, wants) => {
    for (const want of wants) expect(() => read(url, files)).toThrow(want);
    expect(() => read(url, files)).not.toThrow(/hunter2|whsec_B/);
  });
});
