import type { Incident, WebhookMessage } from '@coxswain/api-types';
import { aJobFailure, anIncident } from '@coxswain/api-types/testing';
import { slackText } from './slack-text.ts';

const job = { id: '3f1c2b9e-0000-4000-8000-000000000001', name: 'tiny', namespace: 'research' };
const of = { project: 'research', job };
const timestamp = '2026-01-01T00:00:00.000Z';
const hang = anIncident({ kind: 'Hang', rank: 3, gpu: 1, node: 'gpu-b', message: 'Rank 3 waits.' });
const news = (type: 'incident.opened' | 'incident.acted' | 'incident.closed', incident: Incident): WebhookMessage => ({
  type,
  timestamp,
  data: { ...of, incident },
});
const said = (message: WebhookMessage): string => (JSON.parse(slackText(message)) as { readonly text: string }).text;

it.each<[string, WebhookMessage, string]>([
  [
    'a new incident',
    news('incident.opened', hang),
    '*research/tiny* Hang of rank 3 (GPU 1 of its pod) on node gpu-b: Rank 3 waits.',
  ],
  [
    'what was done about it',
    news('incident.acted', { ...hang, action: 'RestartedElsewhere' }),
    '*research/tiny* Hang of rank 3 (GPU 1 of its pod) on node gpu-b: restarted elsewhere.',
  ],
  [
    'its end',
    news('incident.closed', { ...hang, outcome: 'Recovered', redoneSteps: 12 }),
    '*research/tiny* Hang of rank 3 (GPU 1 of its pod) on node gpu-b: recovered, 12 steps trained again.',
  ],
  [
    'a job that waits for a person',
    {
      type: 'job.needsPerson',
      timestamp,
      data: { ...of, condition: { type: 'Placed', reason: 'PodsRefused', message: 'A quota.' } },
    },
    '*research/tiny* needs a person. PodsRefused: A quota.',
  ],
  [
    'the end of a job',
    { type: 'job.ended', timestamp, data: { ...of, state: 'Complete', summary: 'It made 100 steps.', failure: null } },
    '*research/tiny* is Complete. It made 100 steps.',
  ],
  [
    'why a job failed, and what to do',
    {
      type: 'job.ended',
      timestamp,
      data: {
        ...of,
        state: 'Failed',
        summary: '',
        failure: aJobFailure({ verdict: 'Rank 1 failed.', advice: 'Look.' }),
      },
    },
    '*research/tiny* is Failed. Rank 1 failed. Look.',
  ],
  [
    'a test',
    { type: 'webhook.test', timestamp, data: { project: 'research', message: 'It arrives.' } },
    '*Coxswain*, project research: It arrives.',
  ],
])('Slack reads %s', (_what, message, text) => {
  expect(said(message)).toBe(text);
});

it('what a rank wrote mentions no channel, hides no address behind other words and is not bold', () => {
  const message = '<!channel> <http://evil|click> *bold* `code` & more';
  expect(said(news('incident.opened', { ...hang, message }))).toContain(
    '&lt;!channel&gt; &lt;http://evil|click&gt; *\u200bbold*\u200b `\u200bcode`\u200b &amp; more',
  );
});

it('cuts what is longer than Slack takes', () => {
  expect(said(news('incident.opened', { ...hang, message: '<'.repeat(9_000) })).length).toBeLessThanOrEqual(4_000);
});
