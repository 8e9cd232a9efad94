import { joinTabs, type TabChannel } from './tab-token.ts';

/** Tabs of one browser: each receives what the others send, at once. */
function browser() {
  type Receive = Parameters<TabChannel['addEventListener']>[1];
  const receivers: Receive[] = [];
  return {
    /** A tab that has that token, and what happened to it. */
    open(token?: string) {
      const tab = { token, isSignedOut: false };
      let own: Receive | undefined;
      const channel: TabChannel = {
        addEventListener: (_type, receive) => receivers.push((own = receive)),
        postMessage: (data) => {
          for (const receive of receivers) if (receive !== own) receive({ data });
        },
      };
      const { ask, signOut } = joinTabs(channel, {
        token: () => tab.token,
        isWanted: () => tab.token === undefined && !tab.isSignedOut,
        onToken: (found) => (tab.token = found),
        onSignOut: () => Object.assign(tab, { token: undefined, isSignedOut: true }),
      });
      if (token === undefined) ask();
      return { tab, signOut };
    },
  };
}

describe('a new tab', () => {
  it('has the token of a tab that is open', () => {
    const tabs = browser();
    tabs.open('a');
    expect(tabs.open().tab.token).toBe('a');
  });

  it('has the first token if tabs have several', () => {
    const tabs = browser();
    tabs.open('a');
    tabs.open('b');
    expect(tabs.open().tab.token).toBe('a');
  });

  it('keeps its own token', () => {
    const tabs = browser();
    tabs.open('a');
    expect(tabs.open('b').tab.token).toBe('b');
  });

  it('has none if no tab is open that has one', () => {
    const tabs = browser();
    tabs.open();
    expect(tabs.open().tab.token).toBeUndefined();
  });

  it('is signed out with the others that have its token, and with no other', () => {
    const tabs = browser();
    const first = tabs.open('a');
    const second = tabs.open();
    const other = tabs.open('b');
    first.signOut('a');
    expect([second.tab.isSignedOut, other.tab.isSignedOut]).toEqual([true, false]);
  });
});
