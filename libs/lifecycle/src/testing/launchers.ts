import type { Attempt, TerminationCause } from '@coxswain/api-types';
import { launcherOrders, type membersOf, type PlacedLauncher } from '../launchers/launcher-orders.ts';
import type { ObservedPod } from '../observation/observed.ts';
import { anExit } from './builders.ts';

/** What a launcher does, whoever knows of it. */
interface Ranks extends PlacedLauncher {
  /** When its ranks were gone. */
  readonly reapedAtMs?: number;
}

/** How long a launcher whose ranks have failed waits for a leader before it ends. */
const PATIENCE_MS = 120_000;

/**
 * The launchers of one job's pods, and what the process that leads has heard of them. What they say arrives when they report, what they are told
 * at once; one that has lost its connection does neither.
 */
export class Launchers {
  readonly #violations: string[];
  readonly #real = new Map<string, Ranks>();
  readonly #cutOffUntilMs = new Map<string, number>();
  readonly #reportedAtMs = new Map<string, number>();
  /** By the leader's memory. */
  #reported = new Map<string, PlacedLauncher>();
  /** Newest incarnation that the leader gave to each. */
  #assigned = new Map<string, number>();

  /** `violations` is given sentences about ranks that were started although others might still run, or before that was recorded. */
  constructor(violations: string[]) {
    this.#violations = violations;
  }

  /** Its container has started. */
  start({ uid, epoch, podIndex }: ObservedPod): void {
    this.#real.set(uid, { epoch, podIndex, incarnation: 0, state: 'waiting' });
  }

  /** Whether its ranks are gone, so that nothing computes there. */
  isReaped({ uid }: ObservedPod): boolean {
    return this.#real.get(uid)?.state === 'reaped';
  }

  /** A rank fails by itself; its launcher ends the others. False: none runs there. */
  fail({ uid }: ObservedPod, about: { readonly step: number; readonly nowMs: number }): boolean {
    const ranks = this.#real.get(uid);
    if (ranks?.state !== 'running') return false;
    const { epoch, incarnation } = ranks;
    const { cause } = anExit({}, { epoch, incarnation, lastStep: about.step });
    if (cause === undefined) return false;
    this.#real.set(uid, { ...ranks, state: 'reaped', cause, reapedAtMs: about.nowMs });
    return true;
  }

  loseConnection({ uid }: ObservedPod, untilMs: number): void {
    this.#cutOffUntilMs.set(uid, untilMs);
  }

  /** Another process leads: it knows nobody. */
  forgetReports(): void {
    this.#reported = new Map();
    this.#assigned = new Map();
    this.#reportedAtMs.clear();
  }

  /** How long ago the leader heard each. */
  reportAgesMs(nowMs: number): ReadonlyMap<string, number> {
    return new Map([...this.#reportedAtMs].map(([uid, atMs]) => [uid, nowMs - atMs]));
  }

  /** Whether its ranks of that incarnation run. */
  runs({ uid }: ObservedPod, incarnation: number): boolean {
    const ranks = this.#real.get(uid);
    return ranks?.state === 'running' && ranks.incarnation === incarnation;
  }

  /**
   * What the leader is shown, as the operator's desk shows it: what was said. But who was given an incarnation that is over by now, and has said
   * nothing of it, counts as running it.
   */
  reports(newest = 1): ReadonlyMap<string, PlacedLauncher> {
    return new Map(
      [...this.#reported].map(([uid, report]): [string, PlacedLauncher] => {
        const incarnation = this.#assigned.get(uid) ?? 0;
        const { epoch, podIndex } = report;
        const isOpen = incarnation > report.incarnation && incarnation < newest;
        return [uid, isOpen ? { epoch, podIndex, incarnation, state: 'running' } : report];
      }),
    );
  }

  /** Those of these pods that are connected say what they do. */
  report(pods: readonly ObservedPod[], nowMs: number): void {
    for (const pod of pods) {
      const ranks = this.#real.get(pod.uid);
      if (ranks === undefined || this.#isCutOff(pod, nowMs)) continue;
      const { reapedAtMs: _, ...report } = ranks;
      this.#reported.set(pod.uid, report);
      this.#reportedAtMs.set(pod.uid, nowMs);
    }
  }

  /** Whether the pod's launcher runs, and is connected. */
  isHeard(pod: ObservedPod, nowMs: number): boolean {
    return this.#real.has(pod.uid) && !this.#isCutOff(pod, nowMs);
  }

  /** What the pod's launcher ends with, if it has waited for a leader for too long. */
  givesUp(pod: ObservedPod, nowMs: number): TerminationCause | undefined {
    const { cause, reapedAtMs } = this.#real.get(pod.uid) ?? {};
    const isTired = reapedAtMs !== undefined && nowMs - reapedAtMs >= PATIENCE_MS && this.#isCutOff(pod, nowMs);
    return isTired ? cause : undefined;
  }

  /** The cause that it ends with when it is asked to end. */
  causeOf({ uid }: ObservedPod): TerminationCause | undefined {
    return this.#real.get(uid)?.cause;
  }

  /** The leader tells them what follows from the attempt that it sees. `recorded`: as the API server has it. */
  order(gang: {
    readonly seen: Attempt | undefined;
    readonly recorded: Attempt | undefined;
    readonly members: ReturnType<typeof membersOf>;
    readonly isDue: boolean;
    readonly pods: readonly ObservedPod[];
    /** Whether its launcher can hear. */
    readonly isUp: (pod: ObservedPod) => boolean;
    readonly nowMs: number;
  }): void {
    const { seen, members, isDue, pods } = gang;
    const incarnation = seen?.incarnation ?? 1;
    const launchers = this.reports(incarnation);
    for (const [podUid, order] of launcherOrders({ attempt: seen, ...members, launchers, isDue })) {
      const pod = pods.find(({ uid }) => uid === podUid);
      if (order.kind === 'assign') this.#assigned.set(podUid, incarnation);
      if (pod === undefined || !gang.isUp(pod) || this.#isCutOff(pod, gang.nowMs)) continue;
      if (order.kind === 'assign') this.#begin(pod, incarnation, gang);
      else this.#end(pod, gang.nowMs);
    }
  }

  #begin(
    pod: ObservedPod,
    incarnation: number,
    gang: {
      readonly recorded: Attempt | undefined;
      readonly members: ReturnType<typeof membersOf>;
      readonly pods: readonly ObservedPod[];
    },
  ): void {
    const ranks = this.#real.get(pod.uid);
    if (ranks === undefined || ranks.incarnation >= incarnation) return;
    const name = `incarnation ${incarnation} of ${pod.name}`;
    const { recorded } = gang;
    if (recorded?.epoch !== pod.epoch || (recorded.incarnation ?? 1) < incarnation) {
      this.#violations.push(`${name} was begun before it was recorded`);
    }
    for (const one of gang.pods) {
      const other = one.epoch === pod.epoch ? this.#real.get(one.uid) : undefined;
      const isOlder = other?.state === 'running' && other.incarnation < incarnation;
      // A pod without ranks may be silent: the incarnation fences it.
      const isMember = gang.members.isMember?.(one.podIndex) !== false;
      if (isOlder && isMember && one.phase === 'Running')
        this.#violations.push(`${name} was begun while ${one.name} ran incarnation ${other.incarnation}`);
    }
    const { cause: _, reapedAtMs: __, ...rest } = ranks;
    this.#real.set(pod.uid, { ...rest, incarnation, state: 'running' });
  }

  #end(pod: ObservedPod, nowMs: number): void {
    const ranks = this.#real.get(pod.uid);
    if (ranks?.state === 'running') this.#real.set(pod.uid, { ...ranks, state: 'reaped', reapedAtMs: nowMs });
  }

  #isCutOff({ uid }: ObservedPod, nowMs: number): boolean {
    return (this.#cutOffUntilMs.get(uid) ?? 0) > nowMs;
  }
}
