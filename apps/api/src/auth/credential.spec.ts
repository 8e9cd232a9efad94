import { codeOf } from '../testing/code-of.ts';
import { cookieOf, credentialOf, requireOwnPage, setCookie } from './credential.ts';

const OWN = 'https://coxswain.example.com';

describe('what a request shows for itself', () => {
  it.each<[string, Record<string, string>, unknown]>([
    ['is nothing', {}, undefined],
    ['is its token', { authorization: 'Bearer cxs_a' }, { by: 'bearer', text: 'cxs_a' }],
    ['is the cookie of the page', { cookie: 'a=b; __Host-coxswain-session=cxs_a' }, { by: 'cookie', text: 'cxs_a' }],
    [
      'is the token, where there are both',
      { authorization: 'Bearer cxs_a', cookie: '__Host-coxswain-session=cxs_b' },
      { by: 'bearer', text: 'cxs_a' },
    ],
    [
      'is nothing where the token is none, though there is a cookie',
      { authorization: 'Basic eA==', cookie: '__Host-coxswain-session=cxs_b' },
      undefined,
    ],
    ['is not a cookie of another name', { cookie: 'x__Host-coxswain-session=cxs_a; coxswain-session=b' }, undefined],
  ])('%s', (_sentence, headers, want) => {
    expect(credentialOf(headers)).toEqual(want);
  });

  it('is set so that no script reads it and no other host can set it', () => {
    const cookie = setCookie('__Host-a', 'b', { maxAgeSeconds: 60 });
    expect(cookie).toBe('__Host-a=b; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=60');
    expect(cookieOf({ cookie: '__Host-a=b' }, '__Host-a')).toBe('b');
  });
});

describe('a request by cookie', () => {
  it.each<[string, string, Record<string, string>, string | undefined]>([
    ['that reads is let in from anywhere', 'GET', {}, undefined],
    ['that changes something is let in from our page', 'POST', { origin: OWN, 'x-coxswain-request': '1' }, undefined],
    ['without the header is refused', 'POST', { origin: OWN }, 'FORBIDDEN'],
    ['without an origin is refused', 'DELETE', { 'x-coxswain-request': '1' }, 'FORBIDDEN'],
    [
      'from another origin is refused',
      'POST',
      { origin: 'https://evil.example.com', 'x-coxswain-request': '1' },
      'FORBIDDEN',
    ],
    [
      'from our host without TLS is refused',
      'POST',
      { origin: OWN.replace('https', 'http'), 'x-coxswain-request': '1' },
      'FORBIDDEN',
    ],
    ['from nowhere is refused', 'PUT', { origin: 'null', 'x-coxswain-request': '1' }, 'FORBIDDEN'],
  ])('%s', (_sentence, method, headers, want) => {
    expect(codeOf(() => requireOwnPage({ method, headers }, OWN))).toBe(want);
  });

  it('that changes something is refused where nobody can sign in', () => {
    expect(
      codeOf(() => requireOwnPage({ method: 'POST', headers: { origin: OWN, 'x-coxswain-request': '1' } }, undefined)),
    ).toBe('FORBIDDEN');
  });
});
