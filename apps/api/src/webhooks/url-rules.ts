/** Which URLs may an endpoint have? */
import { isIP } from 'node:net';
import { addressJudge } from './address-rules.ts';

/** What the administrator allows beyond https at public addresses. */
export interface CallRules {
  readonly allowsHttp: boolean;
  /** Such as `10.1.0.0/16`. */
  readonly allowedRanges: readonly string[];
}

/** Why messages cannot go there; undefined when they can, as far as the URL alone tells: what a name leads to is judged at each attempt. */
export function urlProblem(text: string, { allowsHttp, allowedRanges }: CallRules): string | undefined {
  if (!URL.canParse(text)) return 'is no URL; give one such as https://hooks.example.com/coxswain';
  const url = new URL(text);
  if (url.protocol === 'http:' && !allowsHttp)
    return 'begins with http, which this installation does not allow (COXSWAIN_WEBHOOK_ALLOW_HTTP); use https';
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return `begins with ${url.protocol} and must with https:`;
  if (url.username !== '' || url.password !== '')
    return 'holds a user or a password; leave them out: the signature says who sends';
  if (url.hash !== '') return 'holds a fragment (#…), which is never sent; leave it out';
  const host = hostOf(url);
  if (isIP(host) !== 0 && !addressJudge(allowedRanges)(host))
    return 'names an address that is private, of this machine or reserved; an administrator can allow ranges (COXSWAIN_WEBHOOK_ALLOWED_RANGES)';
  return undefined;
}

/** A name or an address, without the brackets of IPv6. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}
