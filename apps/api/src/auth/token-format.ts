import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** A token as its holder knows it, and the two parts that are stored of it. */
export interface FreshToken {
  readonly token: string;
  readonly prefix: string;
  readonly secretSha256: Buffer;
}

/** `cxs_<prefix>_<secret>`: 8 hexadecimal digits to find it by and 32 random bytes to believe it by. */
export function freshToken(): FreshToken {
  const prefix = randomBytes(4).toString('hex');
  const secret = randomBytes(32).toString('base64url');
  return { token: `cxs_${prefix}_${secret}`, prefix, secretSha256: sha256(secret) };
}

/** The parts of what a client presents; undefined when it has not the form of a token. */
export function partsOfToken(presented: string): { readonly prefix: string; readonly secret: string } | undefined {
  const match = /^cxs_([0-9a-f]{8})_([A-Za-z0-9_-]{43})$/.exec(presented);
  return match?.[1] === undefined || match[2] === undefined ? undefined : { prefix: match[1], secret: match[2] };
}

/** Compares in constant time. */
export function secretMatches(secret: string, storedSha256: Buffer): boolean {
  const given = sha256(secret);
  return given.length === storedSha256.length && timingSafeEqual(given, storedSha256);
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
