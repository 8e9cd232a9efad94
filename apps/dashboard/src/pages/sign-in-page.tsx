import { useState, type ReactNode } from 'react';
import { useSessionState } from '../session.tsx';

export function SignInPage(): ReactNode {
  const { problem, signIn } = useSessionState();
  const [token, setToken] = useState('');
  return (
    <form
      className="sign-in panel"
      onSubmit={(event) => {
        event.preventDefault();
        if (token.trim() !== '') signIn(token.trim());
      }}
    >
      <h1>Coxswain</h1>
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
      {problem !== undefined && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <button type="submit">Sign in</button>
      <p className="hint">
        An administrator makes a token for your project with <code>coxswain token create</code>. It is kept in this tab
        alone.
      </p>
    </form>
  );
}
