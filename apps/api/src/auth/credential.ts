import type { IncomingHttpHeaders } from 'node:http';
import { AccessDenied } from './access-denied.ts';

/** The page's cookie. The prefix makes browsers refuse one that another host set, that is not Secure, or that does not hold for every path. */
export const SESSION_COOKIE = '__Host-coxswain-session';
/** What a page of another origin cannot send along without being asked first, and we never agree. */
export const PAGE_HEADER = 'x-coxswain-request';

/** What a request shows for itself. */
export interface Credential {
  readonly by: 'bearer' | 'cookie';
  readonly text: string;
}

/** The token of `Authorization`, or the cookie of the page; undefined when there is neither. Who sends both means the token. */
export function credentialOf(headers: IncomingHttpHeaders): Credential | undefined {
  if (headers.authorization !== undefined) {
    const text = /^Bearer ([!-~]{1,8192})$/i.exec(headers.authorization)?.[1];
    return text === undefined ? undefined : { by: 'bearer', text };
  }
  const text = cookieOf(headers, SESSION_COOKIE);
  return text === undefined ? undefined : { by: 'cookie', text };
}

/** The value of a cookie that we set; undefined when the request brings none of that name. */
export function cookieOf({ cookie = '' }: IncomingHttpHeaders, name: string): string | undefined {
  const found = cookie.split(';').find((pair) => pair.trimStart().startsWith(`${name}=`));
  return found?.slice(found.indexOf('=') + 1).trim();
}

/** A `Set-Cookie` for the page alone: no script reads it, and pages of others send it along only by opening ours. */
export function setCookie(name: string, value: string, { maxAgeSeconds }: { readonly maxAgeSeconds: number }): string {
  return `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}`;
}

/**
 * FORBIDDEN for a request with a cookie that changes something, unless our own page sent it. Browsers attach the cookie to requests that other sites
 * cause, so the origin must be ours and the header must be one that other origins cannot add.
 */
export function requireOwnPage(
  request: { readonly method: string; readonly headers: IncomingHttpHeaders },
  publicUrl: string | undefined,
): void {
  if (['GET', 'HEAD'].includes(request.method)) return;
  const { origin, [PAGE_HEADER]: mark } = request.headers;
  if (publicUrl !== undefined && origin === publicUrl && mark === '1') return;
  throw new AccessDenied(
    'FORBIDDEN',
    `a request with the cookie of a session must come from ${publicUrl ?? 'the page'} and bear ${PAGE_HEADER}: 1; programs send "Authorization: Bearer" in its place`,
    { action: 'authenticate' },
  );
}
