import { ApiClient } from '@coxswain/api-client';
import type { WhoAmI } from '@coxswain/api-types';
import { createContext, use, useEffect, useMemo, useState, type ReactNode } from 'react';

/** The token lives as long as the tab: closing it signs out. */
const STORAGE_KEY = 'coxswain-token';

export interface Session {
  readonly api: ApiClient;
  readonly me: WhoAmI;
  readonly signOut: () => void;
}

interface SessionState {
  readonly session: Session | undefined;
  /** Why the last sign-in failed. */
  readonly problem: string | undefined;
  readonly busy: boolean;
  readonly signIn: (token: string) => void;
}

const SessionContext = createContext<SessionState | undefined>(undefined);

/** Signs in with the token of an address ending in `#token=…` (which is then removed from the address), or one kept in this tab. */
export function SessionProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const [token, setToken] = useState(initialToken);
  const [me, setMe] = useState<WhoAmI>();
  const [problem, setProblem] = useState<string>();
  const api = useMemo(() => (token === undefined ? undefined : new ApiClient({ server: '', token })), [token]);

  useEffect(() => {
    if (api === undefined || token === undefined) return;
    let current = true;
    api.whoAmI().then(
      (found) => {
        if (!current) return;
        sessionStorage.setItem(STORAGE_KEY, token);
        setProblem(undefined);
        setMe(found);
      },
      (error: unknown) => {
        if (!current) return;
        sessionStorage.removeItem(STORAGE_KEY);
        setProblem(error instanceof Error ? error.message : String(error));
        setToken(undefined);
      },
    );
    return () => {
      current = false;
    };
  }, [api, token]);

  const state = useMemo<SessionState>(() => {
    const signOut = (): void => {
      sessionStorage.removeItem(STORAGE_KEY);
      setMe(undefined);
      setToken(undefined);
    };
    const session = api === undefined || me === undefined ? undefined : { api, me, signOut };
    return { session, problem, busy: token !== undefined && me === undefined, signIn: setToken };
  }, [api, me, problem, token]);

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

function initialToken(): string | undefined {
  const fromAddress = new URLSearchParams(location.hash.slice(1)).get('token');
  if (fromAddress === null) return sessionStorage.getItem(STORAGE_KEY) ?? undefined;
  history.replaceState(null, '', location.pathname + location.search);
  return fromAddress;
}
