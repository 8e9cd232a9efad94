import { z } from 'zod';
import type { PendingSignIn } from '../identity/issuer.ts';
import { seal, unseal } from '../identity/seal.ts';

/** Holds what the page has to bring back from the issuer. Nothing is stored of it here, so that nobody can fill anything with it. */
export const PENDING_COOKIE = '__Host-coxswain-sign-in';
/** How long a person has at the issuer. */
export const PENDING_SECONDS = 600;

const Sealed = z.object({ state: z.string(), nonce: z.string(), verifier: z.string(), returnTo: z.string() });
type Pending = PendingSignIn & { readonly returnTo: string };

interface Sealing {
  readonly key: Uint8Array;
  readonly now: Date;
}

/** The value of the cookie. */
export function sealPending(pending: Pending, { key, now }: Sealing): Promise<string> {
  return seal({ ...pending }, { key, until: new Date(now.getTime() + PENDING_SECONDS * 1_000) });
}

/** Undefined when there is none, when it is too old, or when it is not ours. */
export async function unsealPending(cookie: string | undefined, sealing: Sealing): Promise<Pending | undefined> {
  return cookie === undefined ? undefined : Sealed.safeParse(await unseal(cookie, sealing)).data;
}

/** Where a person goes on: an address of our own page, `/` in place of any other. */
export function ownAddress(returnTo: string | undefined): string {
  return returnTo !== undefined && /^\/(?!\/)[!-[\]-~]{0,999}$/.test(returnTo) ? returnTo : '/';
}
