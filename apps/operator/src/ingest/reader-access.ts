/** Which clients may read series and stacks on the launchers' port? Only the API. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { REPORT_TOKEN_AUDIENCE } from '@coxswain/api-types';
import type { Authenticator } from './authenticator.ts';
import type { ReportPorts } from './session-ports.ts';

/** What decides whether a reader is allowed. */
export interface ReaderAccess {
  readonly authenticator: Authenticator;
  /** User names as the API server spells them. */
  readonly readers: readonly string[];
  readonly leadership: ReportPorts['leadership'];
}

/** Why a reader is rejected. */
export interface Denial {
  readonly status: number;
  readonly title: string;
  readonly leaderUrl?: string;
  /** Delay before a retry is useful. */
  readonly againInMs?: number;
}

/** A request of a reader. */
export interface ReaderCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly token: string | undefined;
  /** Called when the reader is authenticated and allowed. */
  readonly onIdentified: () => void;
}

/** Whether the reader is allowed and this replica leads. Otherwise responds with the reason. */
export async function isAdmitted(
  access: ReaderAccess,
  { response, token, onIdentified }: Omit<ReaderCall, 'request'>,
): Promise<boolean> {
  const denied = await denialOf(access, token);
  if (denied === undefined) onIdentified();
  else refuse(response, denied);
  return denied === undefined;
}

async function denialOf(access: ReaderAccess, token: string | undefined): Promise<Denial | undefined> {
  if (token === undefined) return { status: 401, title: 'present a service account token as bearer' };
  // A token for this audience is preferred; a program outside the cluster has one for the API server.
  const made = await access.authenticator.authenticate(token, [REPORT_TOKEN_AUDIENCE]);
  const answer = made.kind === 'refused' ? await access.authenticator.authenticate(token, []) : made;
  if (answer.kind === 'unavailable') return { status: 503, title: 'the token cannot be checked at the moment' };
  if (answer.kind === 'refused') return { status: 401, title: 'the token is not valid' };
  if (!access.readers.includes(answer.identity.username)) {
    return { status: 403, title: `${answer.identity.username} is not allowed to read here` };
  }
  const leadership = access.leadership();
  if (leadership.leading) return undefined;
  const { leaderUrl } = leadership;
  return { status: 503, title: 'another replica leads', ...(leaderUrl === undefined ? {} : { leaderUrl }) };
}

/** As problem+json (RFC 9457). */
export function refuse(response: ServerResponse, denied: Denial, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(denied.status, { 'content-type': 'application/problem+json', ...headers });
  response.end(JSON.stringify(denied));
}
