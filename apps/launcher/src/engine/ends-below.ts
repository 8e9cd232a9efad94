/** How did the processes end that got SIGTERM below a shell or another wrapper? */
import { EXIT_CODES } from '@coxswain/api-types';
import { isFailure, type RankExit } from '../ending/verdict.ts';
import { endOfChild } from './process-end.ts';
import { parentOf } from '../processes/process-facts.ts';

const STOPPED: RankExit = { kind: 'code', code: EXIT_CODES.stopped.code };

/**
 * Observes the ends of these processes, because a wrapper exits with a code of its own: a shell with that of its last command, torchrun with 1.
 * Their parent may read an end before it is observed here.
 */
export class EndsBelow {
  readonly #exits: RankExit[] = [];

  constructor(pids: readonly number[], patienceMs: number) {
    for (const pid of pids) void this.#observe(pid, patienceMs);
  }

  /** How the rank ended, if its wrapper ended like this. A wrapper that exits with 0 after SIGTERM has stopped, and not finished. */
  exitAfter(wrapper: RankExit): RankExit {
    const failed = this.#exits.find(isFailure);
    if (failed !== undefined) return failed;
    const hasFinished = wrapper.kind === 'code' && wrapper.code === EXIT_CODES.finished.code;
    return hasFinished || this.#exits.length > 0 ? STOPPED : wrapper;
  }

  async #observe(pid: number, patienceMs: number): Promise<void> {
    const exit = await endOfChild(pid, parentOf(pid), { patienceMs });
    if (exit !== undefined) this.#exits.push(exit);
  }
}
