import { hkdfSync } from 'node:crypto';
import { EncryptJWT, jwtDecrypt } from 'jose';

/*
 * Facts that are kept where others could read them, so sealed: with a key that stands elsewhere, against being read and against being changed.
 */

/** A key for one purpose, made from a secret. */
export function keyOf(secret: string | Buffer, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', `coxswain/${purpose}`, 32));
}

/** `facts` as text that says nothing without the key, and that `unseal` gives back until then; without an end, for ever. */
export function seal(
  facts: Readonly<Record<string, unknown>>,
  { key, until }: { readonly key: Uint8Array; readonly until?: Date },
): Promise<string> {
  const sealing = new EncryptJWT({ ...facts }).setProtectedHeader({ alg: 'dir', enc: 'A256GCM' });
  return (until === undefined ? sealing : sealing.setExpirationTime(until)).encrypt(key);
}

/** What was sealed; undefined when it was sealed with another key, changed, or is too old. */
export async function unseal(
  sealed: string,
  { key, now }: { readonly key: Uint8Array; readonly now: Date },
): Promise<unknown> {
  try {
    const options = { keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'], currentDate: now };
    return (await jwtDecrypt(sealed, key, options)).payload;
  } catch {
    return undefined;
  }
}
