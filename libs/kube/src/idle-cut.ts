import type { Clock } from './clock.ts';

/** Cuts a connection on which no byte arrives: it may have died without an error. */
export interface IdleCut {
  restart(): void;
  cancel(): void;
  fired(): boolean;
  through(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

/** Aborts `cut` when no byte has come through for `limitMs()` since `restart`. */
export function idleCut(
  cut: AbortController,
  options: { readonly clock: Clock; readonly limitMs: () => number },
): IdleCut {
  const { clock } = options;
  let fired = false;
  let limitMs = 0;
  let dueAtMs = Infinity;
  let armed: { readonly forMs: number; readonly cancel: () => void } | undefined;
  const arm = (): void => {
    armed?.cancel();
    const forMs = dueAtMs;
    const cancel = clock.setTimer(forMs - clock.monotonicMs(), () => {
      armed = undefined;
      // Bytes have come since: a timer for each chunk of a busy watch would be felt.
      if (dueAtMs > forMs) return arm();
      fired = true;
      cut.abort(new DOMException(`no byte for ${limitMs} ms`, 'TimeoutError'));
    });
    armed = { forMs, cancel };
  };
  const restart = (): void => {
    limitMs = options.limitMs();
    dueAtMs = clock.monotonicMs() + limitMs;
    if (armed === undefined || dueAtMs < armed.forMs) arm();
  };
  return {
    restart,
    cancel: () => {
      armed?.cancel();
      armed = undefined;
    },
    fired: () => fired,
    async *through(body) {
      for await (const chunk of body) {
        restart();
        yield chunk;
      }
    },
  };
}
