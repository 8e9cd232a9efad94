import type { FakeAnswer } from '@coxswain/api-client/testing';
import type { Webhook, WebhookDelivery } from '@coxswain/api-types';
import { runCommand } from '../testing/run-command.ts';

const WEBHOOKS = 'GET /v1/projects/research/webhooks';
const ID = '3f1c2b9e-0000-4000-8000-000000000001';
const AT = `/v1/projects/research/webhooks/${ID}`;

function aWebhook(changes: Partial<Webhook> = {}): Webhook {
  return {
    id: ID,
    url: 'https://hooks.example.com/a',
    events: ['job.ended'],
    form: 'Standard',
    state: 'active',
    disabledReason: null,
    failures: 0,
    failingSince: null,
    waiting: 0,
    leftOut: 0,
    previousSecretUntil: null,
    createdAt: '2026-01-09T12:00:00.000Z',
    ...changes,
  };
}

function aDelivery(changes: Partial<WebhookDelivery> = {}): WebhookDelivery {
  return {
    id: 'msg_1',
    event: 'job.ended',
    state: 'waiting',
    attempts: 2,
    nextAttemptAt: '2026-01-09T12:00:20.000Z',
    lastOutcome: 'answered 503',
    createdAt: '2026-01-09T12:00:00.000Z',
    endedAt: null,
    ...changes,
  };
}

const run = (argv: string, answers: Parameters<typeof runCommand>[1] = {}) =>
  runCommand(argv, { [WEBHOOKS]: { json: { items: [aWebhook()] } }, ...answers });

describe('coxswain webhooks', () => {
  it('list shows each, and says what is wrong with it', async () => {
    const disabled = aWebhook({ state: 'disabled', disabledReason: 'It answered 410.', leftOut: 7, waiting: 3 });
    const failing = aWebhook({ url: 'https://b.example.com/', failures: 4 });
    const { out } = await run('webhooks list', { [WEBHOOKS]: { json: { items: [disabled, failing] } } });
    expect(out)
      .toBe(`ID                                    URL                          STATE        FORM      WAITING  EVENTS
${ID}  https://hooks.example.com/a  disabled     Standard  3        job.ended
${ID}  https://b.example.com/       failing (4)  Standard  0        job.ended

https://hooks.example.com/a is disabled. It answered 410.
7 messages to https://hooks.example.com/a were left out, because too many waited.`);
  });

  it('add prints the secret alone, and beside it that it is shown once', async () => {
    const created = { ...aWebhook(), secret: 'whsec_c2VjcmV0' };
    const answer = await run('webhooks add https://hooks.example.com/a --event job.ended incident.opened', {
      'POST /v1/projects/research/webhooks': { json: created },
    });
    expect(answer).toMatchObject({ code: 0, out: 'whsec_c2VjcmV0' });
    expect(answer.err).toMatch(/shown this once/);
  });

  it('add --slack asks for sentences', async () => {
    const created = { ...aWebhook({ form: 'Slack' }), secret: 'whsec_c2VjcmV0' };
    const { requests } = await run('webhooks add https://hooks.slack.com/services/a --slack', {
      'POST /v1/projects/research/webhooks': { json: created },
    });
    expect(requests.at(-1)?.body).toEqual({ url: 'https://hooks.slack.com/services/a', form: 'Slack' });
  });

  it('add refuses an event that there is not', async () => {
    const { code, err } = await run('webhooks add https://hooks.example.com/a --event job.exploded');
    expect(code).not.toBe(0);
    expect(err).toMatch(/job\.exploded.*incident\.opened/s);
  });

  it('deliveries shows what came of each', async () => {
    const delivered = aDelivery({
      id: 'msg_0',
      state: 'delivered',
      attempts: 1,
      nextAttemptAt: null,
      lastOutcome: 'answered 204',
    });
    const { out } = await run('webhooks deliveries https://hooks.example.com/a', {
      [`GET ${AT}/deliveries`]: { json: { items: [aDelivery(), delivered] } },
    });
    expect(out).toBe(`MADE (UTC)           EVENT      STATE      ATTEMPTS  LAST          NEXT (UTC)           ID
2026-01-09 12:00:00  job.ended  waiting    2         answered 503  2026-01-09 12:00:20  msg_1
2026-01-09 12:00:00  job.ended  delivered  1         answered 204  -                    msg_0`);
  });

  it.each<[string, string, FakeAnswer, RegExp]>([
    [`webhooks test ${ID}`, `POST ${AT}/test`, { json: aDelivery() }, /^Queued msg_1\./],
    [`webhooks enable ${ID}`, `POST ${AT}/enable`, { json: aWebhook({ waiting: 2 }) }, /; 2 messages are waiting\.$/],
    [`webhooks rotate ${ID}`, `POST ${AT}/rotate`, { json: { ...aWebhook(), secret: 'whsec_x' } }, /^whsec_x$/],
    [`webhooks remove ${ID}`, `DELETE ${AT}`, { text: '', status: 204 }, /^Removed https:\/\/hooks\.example\.com\/a/],
  ])('%s', async (argv, request, answer, want) => {
    const { code, out } = await run(argv, { [request]: answer });
    expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(want) });
  });

  it('names what there is where none matches', async () => {
    const { code, err } = await run('webhooks remove https://other.example.com/');
    expect(code).not.toBe(0);
    expect(err).toMatch(/No webhook "https:\/\/other\.example\.com\/"/);
  });
});
