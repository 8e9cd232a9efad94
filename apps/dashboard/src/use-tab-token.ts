import { useCallback, useEffect, useRef } from 'react';
import { joinTabs, type Tabs, type TabSession } from './tab-token.ts';

const CHANNEL = 'coxswain-session';

/** Shares the token of this tab with others that are open. Returns what signs those out too that have the same token. */
export function useTabToken(
  token: string | undefined,
  tab: Pick<TabSession, 'onToken' | 'onSignOut'> & { readonly isWanted: boolean },
): () => void {
  const latest = useRef({ token, tab });
  latest.current = { token, tab };
  const tabs = useRef<Tabs>(undefined);
  useEffect(() => {
    const channel = new BroadcastChannel(CHANNEL);
    tabs.current = joinTabs(channel, {
      token: () => latest.current.token,
      isWanted: () => latest.current.tab.isWanted,
      onToken: (found) => latest.current.tab.onToken(found),
      onSignOut: () => latest.current.tab.onSignOut(),
    });
    return () => channel.close();
  }, []);
  const { isWanted } = tab;
  useEffect(() => {
    if (isWanted) tabs.current?.ask();
  }, [isWanted]);
  return useCallback(() => {
    const { token: signedOut } = latest.current;
    if (signedOut !== undefined) tabs.current?.signOut(signedOut);
  }, []);
}
