import { NotLeadingError, type CallOptions, type KubeClient } from '@coxswain/kube';

/** The term as leader that calls belong to. */
export interface TermOfCalls {
  /** Throws when this process may not write (any more). */
  assertLeading(): unknown;
  /** Milliseconds left in the term. */
  leftMs(): number;
  /** Aborts when the term is over. */
  readonly over: AbortSignal;
}

/**
 * A client whose calls belong to a term: none lasts beyond it, and what hangs at its end is given up with a NotLeadingError. Every write looks at
 * the lease: before it waits for its turn, and again at the last moment before its bytes leave, for a replica that was asleep while another
 * took over must not write.
 */
export function leadingClient(client: KubeClient, term: TermOfCalls): KubeClient {
  // One listener for all calls, because a signal searches its whole list of listeners for each added or removed one.
  const underWay = new Set<AbortController>();
  term.over.addEventListener('abort', () => underWay.forEach((call) => call.abort(term.over.reason)), { once: true });
  const atMostMs = (): number => term.leftMs();
  const guard = (): void => void term.assertLeading();

  const bound = async <T>(given: CallOptions | undefined, call: (bounds: CallBounds) => Promise<T>): Promise<T> => {
    term.over.throwIfAborted();
    const own = new AbortController();
    underWay.add(own);
    const signal = given?.signal === undefined ? own.signal : AbortSignal.any([own.signal, given.signal]);
    try {
      return await call({ signal, atMostMs });
    } catch (error) {
      if (!term.over.aborted || error instanceof NotLeadingError) throw error;
      throw new NotLeadingError('the term ended while the call was under way', { cause: error });
    } finally {
      underWay.delete(own);
    }
  };
  const write = async <T>(
    given: CallOptions | undefined,
    call: (bounds: CallBounds & { readonly guard: () => void }) => Promise<T>,
  ): Promise<T> => {
    guard();
    return bound(given, (bounds) => call({ ...bounds, guard }));
  };
  return {
    ...client,
    get: (path, options) => bound(options, (bounds) => client.get(path, { ...options, ...bounds })),
    list: (path, options) => bound(options, (bounds) => client.list(path, { ...options, ...bounds })),
    create: (path, body, options) => write(options, (bounds) => client.create(path, body, { ...options, ...bounds })),
    apply: (path, body, options) => write(options, (bounds) => client.apply(path, body, { ...options, ...bounds })),
    patch: (path, body, options) => write(options, (bounds) => client.patch(path, body, { ...options, ...bounds })),
    replace: (path, body, options) => write(options, (bounds) => client.replace(path, body, { ...options, ...bounds })),
    delete: (path, options) => write(options, (bounds) => client.delete(path, { ...options, ...bounds })),
  };
}

type CallBounds = Pick<CallOptions, 'signal' | 'atMostMs'>;
