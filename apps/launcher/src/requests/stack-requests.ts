/** In the middle of what are the ranks of this pod, now that somebody asks? */
import { MAX_STACKS_OF_POD, type PodStacks, type RankSilence, STACKS_WITHIN_MS } from '@coxswain/api-types';
import { type GroupedStacks, StackGathering } from '@coxswain/health';
import type { StacksFact } from '../facts/engine-facts.ts';
import type { AskedProcess } from '../facts/fact-server.ts';
import { stateOf } from '../processes/process-facts.ts';
import type { StacksWanted } from '../reports/report-connection.ts';

export interface StackRequestsParts {
  /** Of this pod; none before the first are started. */
  readonly alive: () => readonly { readonly rank: number; readonly alive: boolean }[];
  /** Asks the rank, and gives the process that is asked; undefined where no hook speaks for it. */
  readonly ask: (rank: number, request: number) => AskedProcess | undefined;
  /** Of a process, as proc(5) has it. */
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
/** Several times what the longest answer holds. */
const MOST_CHARACTERS = 1_048_576;
/** Each time that an answer is too long it is made anew so much shorter. */
const SHORTER = 0.7;
const SILENCE_OF_STATE: Readonly<Record<string, RankSilence>> = {
  T: 'stopped',
  t: 'stopped',
  D: 'uninterruptible',
  Z: 'notRunning',
  X: 'notRunning',
};

/** Asks all ranks at once, and waits for the last no longer than it may take. Whoever asks meanwhile gets the same answer. */
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

  /** Answers to what nobody asks any more are late, or invented. */
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

  /** What the kernel says of it comes first. Who never said that it answers is not said to be stuck. */
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

/** Whoever asked says how long it may be. Texts of one character take up to six bytes, so the length is looked at. */
function fitting(gathering: StackGathering, maxBytes: number): Omit<PodStacks, 'request'> {
  for (let characters = maxBytes; ; characters = Math.floor(SHORTER * characters)) {
    const { groups, silent, leftOut }: GroupedStacks = gathering.result(characters);
    const told = { groups: groups.map(({ rankCount: _, ...group }) => group), silent: [...silent], leftOut };
    if (characters < 1 || Buffer.byteLength(JSON.stringify(told)) <= maxBytes - ENVELOPE_BYTES) return told;
  }
}

/** What else is in the message. */
const ENVELOPE_BYTES = 1_024;
