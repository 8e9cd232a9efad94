import type { Clock } from './clock.ts';
import { sleep, systemClock } from './clock.ts';
import type { ReflectorHealth } from './reflector.ts';

/** The part of a reflector that a group needs. */
export interface GroupMember {
  readonly collectionPath: string;
  run(signal: AbortSignal): Promise<void>;
  hasSynced(): boolean;
  isDenied(): boolean;
  health(): ReflectorHealth;
  refresh(signal: AbortSignal): Promise<boolean>;
}

/**
 * Several reflectors that start together and are waited for together. An optional one runs beside them: it is waited for unless its collection is
 * forbidden, and its outage and its refresh concern no other one.
 */
export class InformerGroup {
  readonly #members: readonly GroupMember[];
  readonly #optional: readonly GroupMember[];
  readonly #clock: Clock;

  constructor(members: readonly GroupMember[], clock: Clock = systemClock, optional: readonly GroupMember[] = []) {
    this.#members = members;
    this.#optional = optional;
    this.#clock = clock;
  }

  /** Runs all until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#members, ...this.#optional].map((member) => member.run(signal)));
  }

  /** Whether each collection has had a complete list. No reconcile may run before that. */
  hasSynced(): boolean {
    return this.#awaited().length === 0;
  }

  /** Collections without a complete list, to report what a start waits for. */
  unsynced(): readonly string[] {
    return this.#awaited().map((member) => member.collectionPath);
  }

  #awaited(): readonly GroupMember[] {
    const optional = this.#optional.filter((member) => !member.isDenied());
    return [...this.#members, ...optional].filter((member) => !member.hasSynced());
  }

  /** The longest current outage of any member that is not optional, in ms. The program is not ready if it exceeds a bound. */
  longestOutageMs(): number {
    return Math.max(0, ...this.#members.map((member) => member.health().outageMs));
  }

  /** Lists every collection that is not optional again, whatever the state of its watch. Resolves with true when the cache holds lists that all began after this call. */
  async refresh(signal: AbortSignal): Promise<boolean> {
    const refreshed = await Promise.all(this.#members.map((member) => member.refresh(signal)));
    return refreshed.every(Boolean);
  }

  /** Resolves when all have synced, or with false when `signal` aborts first. */
  async waitForSync(signal: AbortSignal): Promise<boolean> {
    while (!this.hasSynced()) {
      if (signal.aborted) return false;
      await sleep(this.#clock, 20, signal);
    }
    return true;
  }
}
