import { ApiClient, ApiProblem } from '@coxswain/api-client';
import type { WhoAmI } from '@coxswain/api-types';
import { createContext, use, useEffect, useMemo, useState, type ReactNode } from 'react';
import { signInProblem } from './sign-in-problem.ts';
import { useTabToken } from './use-tab-token.ts';
import { takeFromAddress } from './take-from-address.ts';

/** The token lives as long as a tab that has it: closing the last one signs out. */
const STORAGE_KEY = 'coxswain-token';

export interface Session {
  readonly api: ApiClient;
  readonly me: WhoAmI;
  readonly signOut: () => void;
}

export interface SessionState {
  readonly session: Session | undefined;
  /** Where people have accounts; null: there are API tokens alone. Undefined while that is not known. */
  readonly issuer: string | null | undefined;
  /** Why the last sign-in failed. */
  readonly problem: string | undefined;
  readonly busy: boolean;
  /** With an API token; with an account, people go to the issuer. */
  readonly signIn: (token: string) => void;
}

/** Pages read the session from here; only its provider and tests write it. */
export const SessionContext = createContext<SessionState | undefined>(undefined);

/**
 * Signs in with the token of an address ending in `#token=…`, with one kept in this tab or in another one that is open, or with the cookie of a session. It
 * removes the token from the address. No script can see the cookie.
 */
export function SessionProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const issuer = useIssuer();
  const [token, setToken] = useState(initialToken);
  const [me, setMe] = useState<WhoAmI>();
  const [problem, setProblem] = useState(initialProblem);
  /** The browser has no good cookie. */
  const [isGuest, setGuest] = useState(false);
  /** A person signed out in this tab, which is then signed in by no other tab. */
  const [isLeft, setLeft] = useState(false);
  const api = useMemo(() => new ApiClient({ server: '', token }), [token]);
  // Other tabs get a token that the API has accepted.
  const tellSignOut = useTabToken(me === undefined ? undefined : token, {
    // The cookie of a session goes first.
    isWanted: token === undefined && !isLeft && (isGuest || issuer === null),
    onToken: setToken,
    onSignOut: () => {
      setLeft(true);
      sessionStorage.removeItem(STORAGE_KEY);
      setMe(undefined);
      setToken(undefined);
    },
  });
  const isKnown = token !== undefined || (typeof issuer === 'string' && !isGuest);

  useEffect(() => {
    if (!isKnown) return;
    let current = true;
    api.whoAmI().then(
      (found) => {
        if (!current) return;
        if (token !== undefined) sessionStorage.setItem(STORAGE_KEY, token);
        setProblem(undefined);
        setMe(found);
      },
      (error: unknown) => {
        if (!current) return;
        // Nobody has signed in yet: that is no problem.
        if (token !== undefined || !isUnauthenticated(error)) setProblem(sentenceOf(error));
        if (token === undefined) setGuest(true);
        // Other tabs may have the same token, and would give it again.
        else setLeft(true);
        sessionStorage.removeItem(STORAGE_KEY);
        setToken(undefined);
      },
    );
    return () => {
      current = false;
    };
  }, [api, isKnown, token]);

  const state = useMemo<SessionState>(() => {
    const forget = (): void => {
      tellSignOut();
      setLeft(true);
      sessionStorage.removeItem(STORAGE_KEY);
      setGuest(true);
      setMe(undefined);
      setToken(undefined);
    };
    // If the API could not end the session, it still exists, and the page must not claim that it ended.
    const signOut = (): void =>
      void (token === undefined ? api.signOut().then(forget, (error) => setProblem(sentenceOf(error))) : forget());
    const session = me === undefined ? undefined : { api, me, signOut };
    const busy = me === undefined && (isKnown || issuer === undefined);
    return { session, issuer, problem, busy, signIn: setToken };
  }, [api, isKnown, issuer, me, problem, tellSignOut, token]);

  return <SessionContext value={state}>{children}</SessionContext>;
}

export function useSessionState(): SessionState {
  const state = use(SessionContext);
  if (state === undefined) throw new Error('useSessionState needs a SessionProvider above it');
  return state;
}

/** The signed-in session; only for pages that are shown after sign-in. */
export function useSession(): Session {
  const { session } = useSessionState();
  if (session === undefined) throw new Error('this page is shown before sign-in');
  return session;
}

/** The identity provider, from the API; null also if the API does not answer. */
function useIssuer(): string | null | undefined {
  const [issuer, setIssuer] = useState<string | null>();
  useEffect(() => {
    new ApiClient({ server: '', token: undefined }).signInMethods().then(
      (methods) => setIssuer(methods.issuer),
      () => setIssuer(null),
    );
  }, []);
  return issuer;
}

function isUnauthenticated(error: unknown): boolean {
  return error instanceof ApiProblem && error.status === 401;
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function initialToken(): string | undefined {
  return takeFromAddress('token') ?? sessionStorage.getItem(STORAGE_KEY) ?? undefined;
}

/** Why the way back from the issuer ended here. */
function initialProblem(): string | undefined {
  const problem = takeFromAddress('sign-in');
  return problem === undefined ? undefined : signInProblem(problem);
}
