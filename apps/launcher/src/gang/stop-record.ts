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
  #saved: { readonly rank: number; readonly step: number } | undefined;

  constructor({ graceMs, nowMs }: { readonly graceMs: number; readonly nowMs: number }) {
    this.#graceMs = graceMs;
    this.#askedAtMs = nowMs;
  }

  /** Processes got the signal. */
  add({ signalled, unhandled }: Pick<StopFacts, 'signalled' | 'unhandled'>): void {
    this.#signalled += signalled;
    this.#unhandled += unhandled;
  }

  /** A rank reports: it saves, or has saved. The first save that begins counts, and the last one that ends. */
  accept(rank: number, fact: EngineFact, nowMs: number): void {
    const atMs = Math.max(0, Math.round(nowMs - this.#askedAtMs));
    const phase = fact.kind === 'heartbeat' ? fact.watermark?.phase : undefined;
    if (fact.kind === 'checkpointSaved') {
      this.#save = { beganMs: this.#save?.beganMs ?? atMs, endedMs: atMs };
      this.#saved = { rank, step: fact.step };
    } else if (phase === 'saving') this.#save ??= { beganMs: atMs };
  }

  /** The facts, now that no rank is left. `lastSteps`: the last step of each rank. */
  factsAfter(
    { kind, signal }: Pick<Verdict, 'kind' | 'signal'>,
    { overAtMs: nowMs, lastSteps }: { readonly overAtMs: number; readonly lastSteps: ReadonlyMap<number, number> },
  ): StopFacts {
    const { rank = -1, step = 0 } = this.#saved ?? {};
    const stepsAfter = this.#saved === undefined ? {} : { stepsAfter: Math.max(0, (lastSteps.get(rank) ?? 0) - step) };
    return {
      graceMs: Math.round(this.#graceMs),
      tookMs: Math.max(0, Math.round(nowMs - this.#askedAtMs)),
      signalled: this.#signalled,
      unhandled: this.#unhandled,
      killed: kind === 'stopped' && signal === 'SIGKILL',
      ...(this.#save === undefined ? {} : { save: { ...this.#save, ...stepsAfter } }),
    };
  }
}
