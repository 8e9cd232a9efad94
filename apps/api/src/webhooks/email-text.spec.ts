import type { WebhookMessage } from '@coxswain/api-types';
import { aJobFailure, anIncident } from '@coxswain/api-types/testing';
import { type Email, emailText } from './email-text.ts';
import { mailProblem, recipientOf } from './mail-rules.ts';

const job = { id: '3f1c2b9e-0000-4000-8000-000000000001', name: 'tiny', namespace: 'research' };
const of = { project: 'research', job };
const timestamp = '2026-01-01T00:00:00.000Z';
const mailOf = (message: WebhookMessage): Email => JSON.parse(emailText(message)) as Email;

it.each<[string, WebhookMessage, string, RegExp]>([
  [
    'a new incident',
    {
      type: 'incident.opened',
      timestamp,
      data: { ...of, incident: anIncident({ kind: 'Hang', rank: 3, gpu: 1, node: 'gpu-b', message: 'Rank 3 waits.' }) },
    },
    '[research] tiny: Hang of rank 3 (GPU 1 of its pod) on node gpu-b',
    /Rank 3 waits\.\n\nAt 2026/,
  ],
  [
    'a job that needs a person',
    {
      type: 'job.needsPerson',
      timestamp,
      data: { ...of, condition: { type: 'Placed', reason: 'PodsRefused', message: 'A quota.' } },
    },
    '[research] tiny: needs a person (PodsRefused)',
    /A quota\./,
  ],
  [
    'why a job failed, its last lines and what to do',
    {
      type: 'job.ended',
      timestamp,
      data: {
        ...of,
        state: 'Failed',
        summary: '',
        failure: aJobFailure({ verdict: 'Rank 1 failed.', lastLines: ['ValueError'], advice: 'Look.' }),
      },
    },
    '[research] tiny: Failed',
    /Rank 1 failed\.\n {2}\| ValueError\nWhat to do: Look\./,
  ],
  [
    'a test',
    { type: 'webhook.test', timestamp, data: { project: 'research', message: 'It arrives.' } },
    '[research] Coxswain: a test',
    /^It arrives\./,
  ],
])('a mail says %s', (_what, message, subject, text) => {
  const mail = mailOf(message);
  expect(mail).toEqual({ subject, text: expect.stringMatching(text) });
});

it('what a rank wrote makes no second line of the subject, and no header', () => {
  const condition = { type: 'Placed', reason: 'A\r\nBcc: everybody@example.com', message: '\u001b[31m' };
  const { subject, text } = mailOf({ type: 'job.needsPerson', timestamp, data: { ...of, condition } });
  expect(subject).toBe('[research] tiny: needs a person (A Bcc: everybody@example.com)');
  expect(text).not.toContain('\u001b');
});

describe('a mail address', () => {
  const any = { allowedDomains: [] };
  it.each<[string, string, { readonly allowedDomains: readonly string[] } | undefined, RegExp | undefined]>([
    ['of a person', 'mailto:oncall@example.com', any, undefined],
    ['of an allowed domain, in other letters', 'mailto:a@Example.COM', { allowedDomains: ['example.com'] }, undefined],
    [
      'of another domain',
      'mailto:a@evil.example',
      { allowedDomains: ['example.com'] },
      /sends no mail to .*example\.com/,
    ],
    ['where no mail is sent', 'mailto:a@example.com', undefined, /sends no mail; an administrator/],
    ['of two people', 'mailto:a@example.com,b@example.com', any, /no single mail address/],
    ['with headers', 'mailto:a@example.com?cc=b@example.com', any, /no single mail address/],
    ['with a line', 'mailto:a@example.com\r\nDATA', any, /no single mail address/],
    ['of this machine', 'mailto:root@localhost', any, /no single mail address/],
  ])('%s: %s', (_sentence, url, rules, want) => {
    const problem = mailProblem(recipientOf(url) ?? '', rules);
    if (want === undefined) expect(problem).toBeUndefined();
    else expect(problem).toMatch(want);
  });
});
