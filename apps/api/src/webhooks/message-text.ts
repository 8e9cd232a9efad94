/** What is the body of a message? */
import { type Incident, WEBHOOK_TEST, type WebhookMessage } from '@coxswain/api-types';
import { cutText } from '@coxswain/safe-text';

/** In UTF-8. What an incident stands on is left out where it would be longer. */
export const MAX_MESSAGE_BYTES = 16_384;
/** Lines of a log in a message that would be longer otherwise. */
const FEW_LINES = 5;
/** Of a condition; characters. */
const MAX_WORDS = 2_048;

/** The bytes of a message, made once: each attempt sends the same. */
export function messageText(message: WebhookMessage): string {
  const short = withShortWords(message);
  const whole = JSON.stringify(short);
  if (Buffer.byteLength(whole) <= MAX_MESSAGE_BYTES) return whole;
  if ('incident' in short.data) {
    return JSON.stringify({ ...short, data: { ...short.data, incident: withoutEvidence(short.data.incident) } });
  }
  if (short.type !== 'job.ended' || !short.data.failure) return whole;
  const { failure } = short.data;
  const shortFailure = { ...failure, lastLines: failure.lastLines.slice(-FEW_LINES) };
  return JSON.stringify({ ...short, data: { ...short.data, failure: shortFailure } });
}

/** The message that a user requests to check whether an endpoint receives messages. It is about no job. */
export function testMessage(project: string, now: Date): WebhookMessage {
  const message = 'Somebody asked for this message to see whether it arrives.';
  return { type: WEBHOOK_TEST, timestamp: now.toISOString(), data: { project, message } };
}

function withShortWords(message: WebhookMessage): WebhookMessage {
  if (message.type !== 'job.needsPerson') return message;
  const { condition } = message.data;
  return {
    ...message,
    data: { ...message.data, condition: { ...condition, message: cutText(condition.message, MAX_WORDS) } },
  };
}

function withoutEvidence({ evidence: _evidence, operations: _operations, ranks: _ranks, ...rest }: Incident): Incident {
  return rest;
}
