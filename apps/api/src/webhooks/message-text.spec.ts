import { type Incident, type JobFailure, WebhookMessage } from '@coxswain/api-types';
import { aJobFailure } from '@coxswain/api-types/testing';
import { MAX_MESSAGE_BYTES, messageText, testMessage } from './message-text.ts';

const job = { id: '3f1c2b9e-0000-4000-8000-000000000001', name: 'tiny', namespace: 'research' };
const timestamp = '2026-01-01T00:00:00.000Z';

function anIncident(changes: Partial<Incident> = {}): Incident {
  const of = { epoch: 1, incarnation: 1, gpus: 4, noticedAt: timestamp };
  return { ...of, id: '1.1', kind: 'Crash', message: 'Rank 1 exited.', action: 'Advised', ...changes };
}
const textOf = (incident: Incident): string =>
  messageText({ type: 'incident.opened', timestamp, data: { project: 'research', job, incident } });

describe('the body of a message', () => {
  it('is what Standard Webhooks lays out, and can be read by its schema', () => {
    const text = textOf(anIncident());
    expect(Object.keys(JSON.parse(text) as object)).toEqual(['type', 'timestamp', 'data']);
    expect(WebhookMessage.parse(JSON.parse(text))).toMatchObject({ data: { job, incident: anIncident() } });
    expect(WebhookMessage.parse(JSON.parse(messageText(testMessage('research', new Date(0)))))).toMatchObject({
      type: 'webhook.test',
    });
  });

  it('leaves out what an incident stands on where it would be too long, and nothing else', () => {
    const evidence = Array.from({ length: 16 }, () => ({ name: '\0'.repeat(64), value: '\0'.repeat(256) }));
    const text = textOf(anIncident({ evidence, message: '\0'.repeat(1_024) }));
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_MESSAGE_BYTES);
    expect(JSON.parse(text).data.incident).toEqual(anIncident({ message: '\0'.repeat(1_024) }));
  });

  it('holds no more of a condition than people read', () => {
    const condition = { type: 'Accepted', reason: 'LayoutInvalid', message: '\0'.repeat(32_768) };
    const text = messageText({ type: 'job.needsPerson', timestamp, data: { project: 'research', job, condition } });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_MESSAGE_BYTES);
  });

  const ended = (failure: JobFailure | null): WebhookMessage => ({
    type: 'job.ended',
    timestamp,
    data: { project: 'research', job, state: 'Failed', summary: 'It failed.', failure },
  });

  it('has the cause of a job that failed', () => {
    const failure = aJobFailure();
    expect(WebhookMessage.parse(JSON.parse(messageText(ended(failure))))).toEqual(ended(failure));
  });

  it('keeps the last five lines of a log that is too long', () => {
    const lastLines = Array.from({ length: 20 }, (_, index) => `${index}${'\ufffd'.repeat(298)}`);
    const text = messageText(ended(aJobFailure({ lastLines })));
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_MESSAGE_BYTES);
    expect(JSON.parse(text).data.failure.lastLines).toEqual(lastLines.slice(-5));
  });

  it('is text that the database stores, whatever somebody wrote into a status', () => {
    const text = textOf(anIncident({ message: 'a\0b\ud800c' }));
    expect([text.includes('\0'), text.isWellFormed()]).toEqual([false, true]);
  });
});
