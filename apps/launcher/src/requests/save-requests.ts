/** Forwards requests of the operator to save before the next save is due. */
import type { OperatorMessage } from '@coxswain/api-types';
import type { SaveAsked } from '../facts/fact-server.ts';

/** The operator's message that asks for a save. */
export type SaveWanted = Extract<OperatorMessage, { kind: 'saveWanted' }>;

const WHY_NOT: Readonly<Record<Exclude<SaveAsked, 'asked'>, string>> = {
  cannot: 'its engine does not support early saves, or has an older coxswain_agent',
  silent: 'its engine is not connected to this launcher (it does not use coxswain_agent, or has not started)',
};

/** Forwards each request once, to the first rank of the pod; the ranks agree with each other. Logs a request that no rank can receive. */
export class SaveRequests {
  readonly #firstRank: () => number | undefined;
  readonly #ask: (rank: number, request: number) => SaveAsked;
  readonly #logLine: (sentence: string) => void;
  /** The newest forwarded request. */
  #last = { incarnation: 0, request: 0 };

  constructor(parts: {
    /** The first running rank; undefined if none runs. */
    readonly firstRank: () => number | undefined;
    readonly ask: (rank: number, request: number) => SaveAsked;
    readonly logLine: (sentence: string) => void;
  }) {
    this.#firstRank = parts.firstRank;
    this.#ask = parts.ask;
    this.#logLine = parts.logLine;
  }

  /** Receives a request for the running incarnation. Ignores one that is not later than the last. */
  receive({ incarnation, request, why }: SaveWanted): void {
    const known = this.#last.incarnation === incarnation ? this.#last.request : 0;
    const rank = this.#firstRank();
    if (request <= known || rank === undefined) return;
    this.#last = { incarnation, request };
    const asked = this.#ask(rank, request);
    this.#logLine(
      asked === 'asked'
        ? `The operator asks for a save before the next one is due: ${why} Rank ${rank} was asked; training continues.`
        : `The operator asks for a save before the next one is due: ${why} Rank ${rank} was not asked: ${WHY_NOT[asked]}. Training continues.`,
    );
  }
}
