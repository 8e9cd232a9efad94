/** How are signing secrets made and kept? */
import { randomBytes } from 'node:crypto';
import { seal, unseal } from '../identity/seal.ts';

/** As Standard Webhooks writes them; 24 to 64 bytes are asked for. */
export function freshSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** The secret as its row holds it. It names its endpoint: a text that somebody copies into another row says nothing there. */
export function sealSecret(
  secret: string,
  { webhookId, key }: { readonly webhookId: string; readonly key: Uint8Array },
): Promise<string> {
  return seal({ secret, webhookId }, { key });
}

/** Undefined: it was sealed with another key, for another endpoint, or changed. */
export async function unsealSecret(
  sealed: string,
  { webhookId, key, now }: { readonly webhookId: string; readonly key: Uint8Array; readonly now: Date },
): Promise<string | undefined> {
  const facts = (await unseal(sealed, { key, now })) as
    { readonly secret?: unknown; readonly webhookId?: unknown } | undefined;
  if (facts?.webhookId !== webhookId || typeof facts.secret !== 'string') return undefined;
  return facts.secret;
}
