/** A page as somebody sees it who has signed in, with answers of the API that were read before. */
import type { ApiClient } from '@coxswain/api-client';
import type { WhoAmI } from '@coxswain/api-types';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createElement, type ReactElement, type ReactNode } from 'react';
import { Router } from 'wouter';
import { SessionContext, type SessionState } from '../../session.tsx';

/** What the page asked for, by its key: the answer, or an error in place of it. Without an entry it is still being read. */
export type Answers = readonly (readonly [key: readonly unknown[], answer: unknown])[];

export const ADA: WhoAmI = { name: 'ada', role: 'submitter', project: 'research', kind: 'person', memberships: [] };

const NOBODY: SessionState = {
  session: undefined,
  issuer: null,
  problem: undefined,
  busy: false,
  signIn: () => undefined,
};

/** Before anybody has signed in. */
export function asGuest(page: ReactNode, state: Partial<SessionState> = {}, path = '/', search = ''): ReactElement {
  const routed = createElement(Router, { ssrPath: path, ssrSearch: search, children: page });
  return createElement(SessionContext, { value: { ...NOBODY, ...state } }, routed);
}

/** As `me`, at that path of the page. */
export function asSignedIn(
  page: ReactNode,
  {
    me = {},
    answers = [],
    path = '/',
    search = '',
  }: { me?: Partial<WhoAmI>; answers?: Answers; path?: string; search?: string } = {},
): ReactElement {
  const client = new QueryClient({
    defaultOptions: {
      // No timer outlives the test.
      queries: { retry: false, retryOnMount: false, gcTime: Infinity },
      mutations: { gcTime: Infinity },
    },
  });
  for (const [key, answer] of answers) {
    if (answer instanceof Error) {
      const query = client.getQueryCache().build(client, { queryKey: [...key] });
      query.setState({ status: 'error', error: answer, fetchStatus: 'idle', errorUpdateCount: 1 });
    } else client.setQueryData([...key], answer);
  }
  const session = { api: {} as ApiClient, me: { ...ADA, ...me }, signOut: () => undefined };
  const queried = createElement(QueryClientProvider, { client }, page);
  return asGuest(queried, { session }, path, search);
}
