import type { Clock } from './clock.ts';

/** Cuts a connection on which nothing arrives: it may have died without a word. */
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
  let cancel = (): void => undefined;
  const restart = (): void => {
    cancel();
    const limitMs = options.limitMs();
    cancel = clock.setTimer(limitMs, () => {
      fired = true;
      cut.abort(new DOMException(`no byte for ${limitMs} ms`, 'TimeoutError'));
    });
  };
  return {
    restart,
    cancel: () => cancel(),
    fired: () => fired,
    async *through(body) {
      for await (const chunk of body) {
        restart();
        yield chunk;
      }
    },
  };
}
