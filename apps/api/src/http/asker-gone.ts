import type { ServerResponse } from 'node:http';
import { DomainError } from '@coxswain/domain-error';

/**
 * Aborts when whoever asked goes before the answer was sent: nobody wants it any more. For work that takes seconds. An answer that was sent whole
 * is no going, although its connection closes too.
 */
export function signalOfGoing(raw: Pick<ServerResponse, 'once' | 'destroyed' | 'writableFinished'>): AbortSignal {
  const gone = new AbortController();
  const leave = (): void => {
    if (!raw.writableFinished) gone.abort(new DomainError('UNAVAILABLE', 'whoever asked has gone'));
  };
  raw.once('close', leave);
  if (raw.destroyed) leave();
  return gone.signal;
}
