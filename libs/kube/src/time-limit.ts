import type { Clock } from './clock.ts';

/** How long one request may take; the caller's own signal ends it as well. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  /** From here on only the caller's own signal ends the request. */
  headArrived(): void;
  done(): void;
}

/** A limit that runs from now on. */
export function timeLimit(clock: Clock, timeoutMs: number, outer: AbortSignal | undefined): TimeLimit {
  const controller = new AbortController();
  const cancel = clock.setTimer(timeoutMs, () => {
    controller.abort(new DOMException(`no answer within ${timeoutMs} ms`, 'TimeoutError'));
  });
  const onOuter = (): void => {
    const reason: unknown = outer?.reason;
    controller.abort(isNamedAbort(reason) ? reason : new DOMException('the caller gave up', 'AbortError'));
  };
  if (outer?.aborted) onOuter();
  outer?.addEventListener('abort', onOuter, { once: true });
  return {
    signal: controller.signal,
    headArrived: cancel,
    done: () => {
      cancel();
      outer?.removeEventListener('abort', onOuter);
    },
  };
}

function isNamedAbort(reason: unknown): boolean {
  const name = (reason as { readonly name?: unknown } | null | undefined)?.name;
  return name === 'TimeoutError' || name === 'AbortError';
}
