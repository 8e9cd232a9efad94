import { useState, type ReactNode } from 'react';
import { useSessionState } from '../session.tsx';

/** With an account where there is an issuer, else with an API token. */
export function SignInPage(): ReactNode {
  const { issuer, problem } = useSessionState();
  return (
    <div className="sign-in panel">
      <h1>Coxswain</h1>
      {problem !== undefined && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      {typeof issuer === 'string' ? <WithAccount issuer={issuer} /> : <WithToken isOnlyWay />}
    </div>
  );
}

function WithAccount({ issuer }: { readonly issuer: string }): ReactNode {
  const [isToken, setToken] = useState(false);
  const here = encodeURIComponent(location.pathname + location.search);
  return (
    <>
      <a className="button" href={`/v1/sign-in/start?returnTo=${here}`}>
        Sign in
      </a>
      <p className="hint">With your account at {hostOf(issuer)}.</p>
      {isToken ? (
        <WithToken isOnlyWay={false} />
      ) : (
        <button type="button" className="quiet" onClick={() => setToken(true)}>
          Use an API token
        </button>
      )}
    </>
  );
}

function WithToken({ isOnlyWay }: { readonly isOnlyWay: boolean }): ReactNode {
  const { signIn } = useSessionState();
  const [token, setToken] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (token.trim() !== '') signIn(token.trim());
      }}
    >
      <label htmlFor="token">API token</label>
      <input
        id="token"
        type="password"
        autoComplete="off"
        autoFocus
        value={token}
        onChange={(event) => setToken(event.target.value)}
        placeholder="cxs_…"
      />
      <button type="submit">{isOnlyWay ? 'Sign in' : 'Sign in with the token'}</button>
      <p className="hint">
        An administrator makes a token for your project with <code>coxswain token create</code>. It is kept in this tab
        alone.
      </p>
    </form>
  );
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
