import { setImmediate as nextTurn } from 'node:timers/promises';
import type { InSteps } from '@coxswain/scheduling';

/** Runs computations one after the other, and lets other requests be answered between their steps. */
export class InTurns {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** How many computations have not ended. */
  get waiting(): number {
    return this.#waiting;
  }

  run<T>(steps: () => InSteps<T>): Promise<T> {
    this.#waiting += 1;
    const result = this.#last.then(() => inTurns(steps())).finally(() => (this.#waiting -= 1));
    this.#last = result.catch(() => undefined);
    return result;
  }
}

async function inTurns<T>(steps: InSteps<T>): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await nextTurn();
  }
}
