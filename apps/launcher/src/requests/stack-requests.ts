/** Collects the current stack traces of the pod's ranks for the operator. */
import { MAX_STACKS_OF_POD, type PodStacks, type RankSilence, STACKS_WITHIN_MS } from '@coxswain/api-types';
import { type GroupedStacks, StackGathering } from '@coxswain/health';
import type { StacksFact } from '../facts/engine-facts.ts';
import type { AskedProcess } from '../facts/fact-server.ts';
import { stateOf } from '../processes/process-facts.ts';
import type { StacksWanted } from '../reports/report-connection.ts';

/** How ranks are found and asked, and for how many milliseconds answers are awaited. */
export interface StackRequestsParts {
  /** The ranks of this pod; empty before the first start. */
  readonly alive: () => readonly { readonly rank: number; readonly alive: boolean }[];
  /** Asks the rank, and returns the asked process; undefined if the rank has no hook. */
  readonly ask: (rank: number, request: number) => AskedProcess | undefined;
  /** State of a process, as in proc(5). */
  readonly stateOf?: (pid: number) => string | undefined;
  readonly withinMs?: number;
}

interface Asking {
  readonly request: number;
  /** Processes of the ranks that have not answered. */
  readonly waiting: Map<number, AskedProcess>;
  readonly gathering: StackGathering;
  readonly answered: PromiseWithResolvers<void>;
}

const FIRST_THREADS = 64;
/** Several times the longest answer. */
const MOST_CHARACTERS = 1_048_576;
/** Factor by which an answer that is too long is shortened. */
const SHORTER = 0.7;
const SILENCE_OF_STATE: Readonly<Record<string, RankSilence>> = {
  T: 'stopped',
  t: 'stopped',
  D: 'uninterruptible',
  Z: 'notRunning',
  X: 'notRunning',
};

/** Asks all ranks at once, and waits for their answers up to a time limit. Requests that come meanwhile get the same answer. */
export class StackRequests {
  readonly #parts: StackRequestsParts;
  #asking: Asking | undefined;
  #answer: Promise<StackGathering> | undefined;
  #requests = 0;

  constructor(parts: StackRequestsParts) {
    this.#parts = parts;
  }

  async answer({ request, maxBytes }: StacksWanted): Promise<PodStacks> {
    const answer = this.#answer ?? this.#ask();
    this.#answer = answer;
    const gathering = await answer;
    if (this.#answer === answer) this.#answer = undefined;
    return { request, ...fitting(gathering, maxBytes) };
  }

  /** Receives the answer of a rank. Ignores answers to other requests, which are late or forged. */
  receive(rank: number, { request, threads }: StacksFact): void {
    const asking = this.#asking;
    if (asking?.request !== request || !asking.waiting.delete(rank)) return;
    for (const thread of threads) asking.gathering.add([rank], thread);
    if (asking.waiting.size === 0) asking.answered.resolve();
  }

  async #ask(): Promise<StackGathering> {
    const gathering = new StackGathering({
      firstThreads: FIRST_THREADS,
      otherThreads: MAX_STACKS_OF_POD - FIRST_THREADS,
      characters: MOST_CHARACTERS,
    });
    const asking: Asking = {
      request: (this.#requests += 1),
      waiting: new Map(),
      gathering,
      answered: Promise.withResolvers(),
    };
    this.#asking = asking;
    for (const { rank, alive } of this.#parts.alive()) {
      const asked = alive ? this.#parts.ask(rank, asking.request) : undefined;
      if (asked === undefined) gathering.addSilent([rank], alive ? 'noHook' : 'notRunning');
      else asking.waiting.set(rank, asked);
    }
    if (asking.waiting.size > 0) await within(this.#parts.withinMs ?? STACKS_WITHIN_MS, asking.answered.promise);
    for (const [rank, asked] of asking.waiting) gathering.addSilent([rank], this.#whySilent(asked));
    this.#asking = undefined;
    return gathering;
  }

  /** The state from the kernel comes first. A hook that never announced that it answers does not count as stuck. */
  #whySilent({ pid, saysItAnswers }: AskedProcess): RankSilence {
    const state = (this.#parts.stateOf ?? stateOf)(pid);
    if (state === undefined) return 'notRunning';
    return SILENCE_OF_STATE[state] ?? (saysItAnswers ? 'noAnswer' : 'olderHook');
  }
}

async function within(ms: number, answered: Promise<void>): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, ms);
  await Promise.race([answered, over.promise]);
  clearTimeout(timer);
}

/** Shortens the stacks to `maxBytes`. One character takes up to six bytes, so the encoded length is measured. */
function fitting(gathering: StackGathering, maxBytes: number): Omit<PodStacks, 'request'> {
  for (let characters = maxBytes; ; characters = Math.floor(SHORTER * characters)) {
    const { groups, silent, leftOut }: GroupedStacks = gathering.result(characters);
    const stacks = { groups: groups.map(({ rankCount: _, ...group }) => group), silent: [...silent], leftOut };
    if (characters < 1 || Buffer.byteLength(JSON.stringify(stacks)) <= maxBytes - ENVELOPE_BYTES) return stacks;
  }
}

/** Bytes for the rest of the message. */
const ENVELOPE_BYTES = 1_024;
