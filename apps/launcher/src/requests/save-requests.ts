/** Which ranks of this pod are to save now, and who can be asked? */
import type { OperatorMessage } from '@coxswain/api-types';
import type { SaveAsked } from '../facts/fact-server.ts';

export type SaveWanted = Extract<OperatorMessage, { kind: 'saveWanted' }>;

const WHY_NOT: Readonly<Record<Exclude<SaveAsked, 'asked'>, string>> = {
  cannot: 'its engine tells that it cannot be asked, or has a coxswain_agent of a release that knows no such question',
  silent: 'its engine does not speak to this launcher (it does not use coxswain_agent, or has not begun)',
};

/** Hands each request on once, to the first rank of the pod: the ranks agree with each other. A save that cannot be asked for changes nothing, and is said. */
export class SaveRequests {
  readonly #firstRank: () => number | undefined;
  readonly #ask: (rank: number, request: number) => SaveAsked;
  readonly #say: (sentence: string) => void;
  /** Newest that was handed on. */
  #last = { incarnation: 0, request: 0 };

  constructor(parts: {
    /** Of those that run; undefined: none does. */
    readonly firstRank: () => number | undefined;
    readonly ask: (rank: number, request: number) => SaveAsked;
    readonly say: (sentence: string) => void;
  }) {
    this.#firstRank = parts.firstRank;
    this.#ask = parts.ask;
    this.#say = parts.say;
  }

  /** Of the incarnation that runs. One that is no later than the last does nothing. */
  receive({ incarnation, request, why }: SaveWanted): void {
    const known = this.#last.incarnation === incarnation ? this.#last.request : 0;
    const rank = this.#firstRank();
    if (request <= known || rank === undefined) return;
    this.#last = { incarnation, request };
    const asked = this.#ask(rank, request);
    this.#say(
      asked === 'asked'
        ? `The operator asks for a save before the next one is due: ${why} Rank ${rank} was told; training goes on.`
        : `The operator asks for a save before the next one is due: ${why} Rank ${rank} was not told: ${WHY_NOT[asked]}. Training goes on.`,
    );
  }
}
