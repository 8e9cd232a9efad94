import type { MailSettings } from '../config/mail-config.ts';
import { sendMail } from './send-mail.ts';
import { type MailScript, type MailServer, startMailServer } from './testing/mail-server.ts';

const MAIL = {
  to: 'oncall@example.com',
  id: 'msg_1',
  email: { subject: '[research] tiny: Failed', text: 'It failed.\n.\nEnd.' },
};
const NOW = new Date(Date.UTC(2026, 0, 1));

let servers: MailServer[] = [];
afterEach(() => {
  for (const server of servers) server.close();
  servers = [];
});

async function mailServer(...how: Parameters<typeof startMailServer>): Promise<MailServer> {
  const server = await startMailServer(...how);
  servers.push(server);
  return server;
}

const send = (port: number, settings: Partial<MailSettings> = {}) =>
  sendMail(
    MAIL,
    {
      smtpUrl: `smtp://coxswain:p%40ss@127.0.0.1:${port}`,
      from: 'coxswain@example.com',
      allowedDomains: [],
      allowsPlain: true,
      ...settings,
    },
    { now: NOW, signal: new AbortController().signal, attemptMs: 300 },
  );

it('a mail has sender, recipient, subject, an id that stays the same, and its text', async () => {
  const { port, heard } = await mailServer();
  expect(await send(port)).toEqual({ status: 250 });
  expect(heard).toEqual(
    expect.arrayContaining([
      `AUTH PLAIN ${Buffer.from('\0coxswain\0p@ss').toString('base64')}`,
      'MAIL FROM:<coxswain@example.com>',
      'RCPT TO:<oncall@example.com>',
      'From: coxswain@example.com',
      'Subject: [research] tiny: Failed',
      'Message-ID: <msg_1@example.com>',
      'Auto-Submitted: auto-generated',
      'It failed.',
      // A dot alone would end the mail.
      '..',
    ]),
  );
});

it.each<[string, MailScript, Partial<MailSettings>, RegExp]>([
  ['a recipient is refused', { RCPT: '550 no such user root@internal' }, {}, /^the mail server answered 550$/],
  ['the password is wrong', { AUTH: '535 no' }, {}, /refused user and password/],
  ['the server is too busy', { MAIL: '451 later' }, {}, /answered 451/],
  [
    'the server has no TLS, and mail must be encrypted',
    { STARTTLS: '502 no' },
    { allowsPlain: false },
    /offers no TLS|answered 502/,
  ],
  ['its domain is not allowed any more', {}, { allowedDomains: ['example.org'] }, /not allowed any more/],
])('if %s, the outcome says so, without what the server wrote', async (_what, script, settings, want) => {
  const { port } = await mailServer(script);
  expect(await send(port, settings)).toEqual({ trouble: expect.stringMatching(want) });
});

it.each<[string, () => Promise<number>, RegExp]>([
  ['does not answer', async () => (await mailServer({}, true)).port, /gave no answer/],
  ['is not there', async () => 1, /could not be reached/],
])('a server that %s fails the attempt and nothing else', async (_what, portOf, want) => {
  expect(await send(await portOf())).toEqual({ trouble: expect.stringMatching(want) });
});
