/** How tabs of one browser pass a token on, so that a new tab is signed in while another one is. The browser stores nothing for it. */

/** As much of a BroadcastChannel as this needs. Only pages of the same origin receive its messages. */
export interface TabChannel {
  postMessage(message: unknown): void;
  addEventListener(type: 'message', receive: (event: { readonly data: unknown }) => void): void;
}

/** What a tab has, and what it does with what it receives. */
export interface TabSession {
  /** Undefined: this tab is not signed in with a token. */
  readonly token: () => string | undefined;
  /** Whether it takes a token of another tab. */
  readonly isWanted: () => boolean;
  readonly onToken: (token: string) => void;
  readonly onSignOut: () => void;
}

type TabMessage = { readonly kind: 'ask' } | { readonly kind: 'token' | 'signOut'; readonly token: string };

/** What a tab says to the others. */
export interface Tabs {
  /** Asks for a token. */
  ask(): void;
  /** That token is signed out, in each tab that has it. */
  signOut(token: string): void;
}

/** Answers other tabs from now on. */
export function joinTabs(channel: TabChannel, session: TabSession): Tabs {
  const send = (message: TabMessage): void => channel.postMessage(message);
  channel.addEventListener('message', ({ data }) => {
    const message = data as TabMessage;
    const token = session.token();
    if (message.kind === 'ask' && token !== undefined) send({ kind: 'token', token });
    if (message.kind === 'token' && session.isWanted()) session.onToken(message.token);
    // Another tab may have signed in as somebody else.
    if (message.kind === 'signOut' && message.token === token) session.onSignOut();
  });
  return { ask: () => send({ kind: 'ask' }), signOut: (token) => send({ kind: 'signOut', token }) };
}
