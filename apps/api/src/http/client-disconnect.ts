import type { ServerResponse } from 'node:http';
import { DomainError } from '@coxswain/domain-error';

/**
 * A signal that aborts when the client disconnects before the response was sent, for work that takes seconds. A connection that closes after
 * the whole response was sent does not abort it.
 */
export function abortOnDisconnect(raw: Pick<ServerResponse, 'once' | 'destroyed' | 'writableFinished'>): AbortSignal {
  const gone = new AbortController();
  const leave = (): void => {
    if (!raw.writableFinished)
      gone.abort(new DomainError('UNAVAILABLE', 'the client disconnected before the response was sent'));
  };
  raw.once('close', leave);
  if (raw.destroyed) leave();
  return gone.signal;
}
