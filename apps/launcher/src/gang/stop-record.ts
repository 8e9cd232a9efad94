/** What happened between SIGTERM and the end of the ranks, for the sentence on work that was lost. */
import type { StopFacts } from '@coxswain/api-types';
import type { EngineFact } from '../facts/engine-facts.ts';
import type { Verdict } from '../ending/verdict.ts';

/** Times are of a monotonic clock, in milliseconds. */
export class StopRecord {
  readonly #graceMs: number;
  readonly #askedAtMs: number;
  #signalled = 0;
  #unhandled = 0;
  #save: StopFacts['save'];

  constructor({ graceMs, nowMs }: { readonly graceMs: number; readonly nowMs: number }) {
    this.#graceMs = graceMs;
    this.#askedAtMs = nowMs;
  }

  /** Processes got the signal. */
  add({ signalled, unhandled }: Pick<StopFacts, 'signalled' | 'unhandled'>): void {
    this.#signalled += signalled;
    this.#unhandled += unhandled;
  }

  /** A rank reports: it saves, or has saved. The first save that begins counts, and its first report of an end. */
  accept(fact: EngineFact, nowMs: number): void {
    const atMs = Math.max(0, Math.round(nowMs - this.#askedAtMs));
    const phase = fact.kind === 'heartbeat' ? fact.watermark?.phase : undefined;
    if (fact.kind === 'checkpointSaved') this.#save = { beganMs: this.#save?.beganMs ?? atMs, endedMs: atMs };
    else if (phase === 'saving') this.#save ??= { beganMs: atMs };
  }

  /** The facts, now that no rank is left. */
  factsAfter({ kind, signal }: Pick<Verdict, 'kind' | 'signal'>, nowMs: number): StopFacts {
    return {
      graceMs: Math.round(this.#graceMs),
      tookMs: Math.max(0, Math.round(nowMs - this.#askedAtMs)),
      signalled: this.#signalled,
      unhandled: this.#unhandled,
      killed: kind === 'stopped' && signal === 'SIGKILL',
      ...(this.#save === undefined ? {} : { save: this.#save }),
    };
  }
}
