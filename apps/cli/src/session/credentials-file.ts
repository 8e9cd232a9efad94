import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { CliError } from '../cli-error.ts';
import { fileError } from '../files/file-error.ts';

/** Who is signed in where, until when. */
const Credential = z.object({ name: z.string(), token: z.string().min(1), expiresAt: z.string() });
/** The signed-in user of one server, with the user's token and its expiry. */
export type Credential = z.infer<typeof Credential>;
const Credentials = z.object({ servers: z.record(z.string(), Credential) });

/** The token of the user who is signed in at the server; undefined if no user is. Throws a {@link CliError} if the session has expired. */
export function signedInToken(path: string, server: string, now: Date): string | undefined {
  const credential = readCredential(path, server);
  if (credential === undefined) return undefined;
  if (Date.parse(credential.expiresAt) > now.getTime()) return credential.token;
  throw new CliError(
    `You were signed in at ${server} until ${credential.expiresAt.slice(0, 16)}Z. Run \`coxswain login\`.`,
  );
}

/** The credential of that server, expired or not; undefined if no user is signed in. */
export function readCredential(path: string, server: string): Credential | undefined {
  return read(path).servers[server];
}

/** Keeps it, or forgets the one of that server (undefined). Nobody but the owner can read the file, at no time. */
export function writeCredential(path: string, server: string, credential: Credential | undefined): void {
  const { [server]: _before, ...others } = read(path).servers;
  const servers = credential === undefined ? others : { ...others, [server]: credential };
  mkdirSync(dirname(path), { recursive: true });
  const fresh = `${path}.new`;
  // What was left there would keep its mode, or lead elsewhere.
  rmSync(fresh, { force: true });
  writeFileSync(fresh, `${JSON.stringify({ servers }, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(fresh, path);
}

function read(path: string): z.infer<typeof Credentials> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { servers: {} };
    throw fileError('read', path, error);
  }
  try {
    return Credentials.parse(JSON.parse(text));
  } catch {
    throw new CliError(`${path} was not written by \`coxswain login\`. Remove it and sign in again.`);
  }
}
