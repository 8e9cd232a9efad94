import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';

const ITERATIONS = 4096;

/**
 * What the server keeps of a password (RFC 5803), so that the password itself is never in a statement, which servers log. For passwords of ASCII
 * letters and digits: others would have to be prepared first (RFC 4013).
 */
export function scramVerifier(password: string, salt: Buffer = randomBytes(16)): string {
  if (!/^[A-Za-z0-9]+$/.test(password)) throw new Error('a password is made of ASCII letters and digits here');
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256');
  const keyOf = (name: string): Buffer => createHmac('sha256', salted).update(name).digest();
  const stored = createHash('sha256').update(keyOf('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${stored}:${keyOf('Server Key').toString('base64')}`;
}
