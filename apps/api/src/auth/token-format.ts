import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** A token as its holder knows it, and the two parts that are stored of it. */
export interface FreshToken {
  readonly token: string;
  readonly prefix: string;
  readonly secretSha256: Buffer;
}

/** What a token that was presented consists of. */
export interface TokenParts {
  readonly prefix: string;
  readonly secret: string;
}

/** As many digits of base 62 as 32 bytes take, and 4. */
const SECRET_DIGITS = 43;
const CHECKSUM_DIGITS = 6;
const FORM = /^cxs_([0-9a-f]{8})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;
/** Tokens of releases before this one: base64url and no checksum. They stay good until they are revoked or expire. */
const EARLIER_FORM = /^cxs_([0-9a-f]{8})_([A-Za-z0-9_-]{43})$/;

/**
 * `cxs_<prefix>_<secret><checksum>`: 8 hexadecimal digits to find it by, 32 random bytes to believe it by, and the CRC32 of all before it, both in base
 * 62. The checksum proves nothing; it tells at once what was cut off, mistyped or never a token, and lets scanners of source code know one when they see it.
 */
export function freshToken(): FreshToken {
  const prefix = randomBytes(4).toString('hex');
  const secret = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), SECRET_DIGITS);
  const text = `cxs_${prefix}_${secret}`;
  return { token: `${text}${checksumOf(text)}`, prefix, secretSha256: sha256(secret) };
}

/** The parts of what a client presents; undefined when it has not the form of a token, or not the checksum that belongs to it. */
export function partsOfToken(presented: string): TokenParts | undefined {
  const [, prefix, secret, checksum] = FORM.exec(presented) ?? EARLIER_FORM.exec(presented) ?? [];
  if (prefix === undefined || secret === undefined) return undefined;
  if (checksum !== undefined && checksum !== checksumOf(`cxs_${prefix}_${secret}`)) return undefined;
  return { prefix, secret };
}

/** Compares in constant time. */
export function secretMatches(secret: string, storedSha256: Buffer): boolean {
  const received = sha256(secret);
  return received.length === storedSha256.length && timingSafeEqual(received, storedSha256);
}

function checksumOf(text: string): string {
  return base62(BigInt(crc32(text)), CHECKSUM_DIGITS);
}

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function base62(value: bigint, digits: number): string {
  let text = '';
  for (let rest = value; rest > 0n; rest /= 62n) text = DIGITS.charAt(Number(rest % 62n)) + text;
  return text.padStart(digits, '0');
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
