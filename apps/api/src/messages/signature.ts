/** How is a message signed, so that its receiver knows who sent it? */
import { createHmac } from 'node:crypto';

/** What is signed; https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
export interface SignedMessage {
  readonly id: string;
  /** Of the attempt, in whole seconds since 1970. */
  readonly timestampS: number;
  readonly body: string;
}

const PREFIX = 'whsec_';

/** The headers of an attempt. Each secret makes a signature: while one is changed for another, both are good. */
export function signedHeaders(message: SignedMessage, secrets: readonly string[]): Readonly<Record<string, string>> {
  return {
    'webhook-id': message.id,
    'webhook-timestamp': String(message.timestampS),
    'webhook-signature': secrets.map((secret) => signatureOf(message, secret)).join(' '),
  };
}

function signatureOf({ id, timestampS, body }: SignedMessage, secret: string): string {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestampS}.${body}`).digest('base64')}`;
}
