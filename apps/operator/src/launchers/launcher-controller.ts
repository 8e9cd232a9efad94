import { isDeepStrictEqual } from 'node:util';
import type { Attempt, PlacementSpec, TrainingJob } from '@coxswain/api-types';
import {
  assignmentOf,
  verifyWantedOf,
  isPauseOver,
  launcherOrders,
  type LauncherOrder,
  membersOf,
  type PlacedLauncher,
  saveOrder,
} from '@coxswain/lifecycle';
import type { AddressedMessage } from '../ingest/ingest-messages.ts';
import type { LauncherReport } from '../ingest/launcher-reports.ts';

/** A job, its newest attempt and the placement of that attempt. */
export interface NewestGang {
  readonly job: TrainingJob;
  readonly attempt: Attempt;
  /** With the ranks in the pods that hold them now. */
  readonly placement: PlacementSpec;
  /** UID of the pod with the name of that index; undefined if the cache has none. */
  readonly podUidOf: (podIndex: number) => string | undefined;
}

/** A message to a launcher about its ranks. */
export interface RankMessage extends AddressedMessage {
  readonly message: Exclude<AddressedMessage['message'], { kind: 'preflightDone' }>;
}

interface ReportsOfEpoch {
  readonly epoch: number;
  readonly launchers: Map<string, PlacedLauncher>;
  /** Newest incarnation assigned to each launcher, by pod UID. */
  readonly assigned: Map<string, number>;
  /** Last message to each launcher since its last report, by pod UID. */
  readonly lastSent: Map<string, { readonly what: string; readonly atMs: number }>;
}

/** Delay before an unanswered message is sent again; reconciles run several times per second, and a launcher may be slow. */
const RESEND_AFTER_MS = 5_000;

const NOTHING: ReadonlyMap<string, PlacedLauncher> = new Map();

/**
 * Decides from the last report of each launcher what to send to it: an assignment, an order to end the ranks of an earlier incarnation, or a request to
 * save. A new leader starts without reports and receives them when launchers connect. Messages follow the cached status of the job; a launcher that is
 * ahead of it ignores them.
 */
export class LauncherController {
  readonly #gangOf: (jobUid: string) => NewestGang | 'gone' | undefined;
  readonly #send: (message: RankMessage) => void;
  readonly #now: () => Date;
  readonly #monotonicMs: () => number;
  readonly #reports = new Map<string, ReportsOfEpoch>();
  /** Jobs with a launcher that does not run the newest incarnation; reconciled repeatedly. */
  readonly #unsettled = new Set<string>();

  constructor(parts: {
    /** The job's newest gang, as far as it is known. */
    readonly gangOf: (jobUid: string) => NewestGang | 'gone' | undefined;
    readonly send: (message: RankMessage) => void;
    readonly now: () => Date;
    readonly monotonicMs: () => number;
  }) {
    this.#gangOf = parts.gangOf;
    this.#send = parts.send;
    this.#now = parts.now;
    this.#monotonicMs = parts.monotonicMs;
  }

  /**
   * Receives reports and sends what follows from them. Returns the jobs whose status must be reconciled: a launcher has ended its ranks, or runs a later
   * incarnation than the first.
   */
  receive(received: readonly LauncherReport[]): readonly string[] {
    const changed = new Set<string>();
    for (const { jobUid, podUid, ...launcher } of received) {
      const known = this.#reports.get(jobUid);
      if (known !== undefined && known.epoch > launcher.epoch) continue;
      const reports: ReportsOfEpoch =
        known?.epoch === launcher.epoch
          ? known
          : { epoch: launcher.epoch, launchers: new Map(), assigned: new Map(), lastSent: new Map() };
      // The launcher reconnected or its state changed, so earlier messages may be lost or outdated.
      reports.lastSent.delete(podUid);
      // A late report of an earlier incarnation must not replace that of a later one.
      if ((reports.launchers.get(podUid)?.incarnation ?? 0) > launcher.incarnation) continue;
      if (isChange(reports.launchers.get(podUid), launcher)) changed.add(jobUid);
      reports.launchers.set(podUid, launcher);
      this.#reports.set(jobUid, reports);
    }
    for (const jobUid of new Set(received.map((report) => report.jobUid))) this.reconcile(jobUid);
    return [...changed];
  }

  /** Last reports of the launchers of the newest reported epoch, by pod UID; at most one for each pod of the gang. */
  ofJob(jobUid: string): ReadonlyMap<string, PlacedLauncher> {
    const gang = this.#gangOf(jobUid);
    return gang === 'gone' ? NOTHING : this.#launchersOf(jobUid, gang);
  }

  /** Reconciles jobs whose launchers have not reached the newest incarnation, because status or time may have changed. */
  reconcileUnsettled(): void {
    for (const jobUid of [...this.#unsettled]) this.reconcile(jobUid);
  }

  /** Sends the launchers of a job what follows from its status and their reports. */
  reconcile(jobUid: string): void {
    const gang = this.#gangOf(jobUid);
    // A report arrived after the job was deleted, and there will be no second deletion event.
    if (gang === 'gone') return this.forget(jobUid);
    const launchers = this.#launchersOf(jobUid, gang);
    if (isSettled(launchers, gang)) this.#unsettled.delete(jobUid);
    else this.#unsettled.add(jobUid);
    if (gang === undefined) return;
    const { attempt, placement } = gang;
    const { notBefore } = gang.job.status ?? {};
    const isDue = isPauseOver({ notBefore, delaySeconds: gang.job.spec.restartPolicy.delaySeconds }, this.#now());
    const orders = launcherOrders({ attempt, ...membersOf(placement), launchers, isDue });
    for (const [podUid, order] of orders) {
      const podIndex = launchers.get(podUid)?.podIndex ?? 0;
      const message = toMessage(order, { gang, podIndex });
      if (order.kind === 'assign') this.#reports.get(jobUid)?.assigned.set(podUid, attempt.incarnation ?? 1);
      if (message !== undefined) this.#sendOnce({ jobUid, epoch: attempt.epoch, podUid, message }, { gang, podIndex });
    }
    const save = saveOrder({ attempt, placement, launchers });
    if (save !== undefined) this.#sendOnce({ jobUid, epoch: attempt.epoch, ...save });
  }

  /** Drops the state of a deleted job. */
  forget(jobUid: string): void {
    this.#reports.delete(jobUid);
    this.#unsettled.delete(jobUid);
  }

  /** Number of jobs with reports; for tests of memory. */
  get size(): number {
    return this.#reports.size;
  }

  #launchersOf(jobUid: string, gang: NewestGang | undefined): ReadonlyMap<string, PlacedLauncher> {
    const reports = this.#reports.get(jobUid);
    return reports === undefined ? NOTHING : onePerPod(withAssignments(reports, gang?.attempt.incarnation ?? 1), gang);
  }

  /** Sends a message unless the same one was sent a moment ago. */
  #sendOnce(addressed: RankMessage, to?: { readonly gang: NewestGang; readonly podIndex: number }): void {
    const { jobUid, epoch, podUid, message } = addressed;
    const incarnation = message.kind === 'assignment' ? message.assignment.incarnation : message.incarnation;
    const request = message.kind === 'saveWanted' ? message.request : 0;
    const what = `${message.kind} ${epoch} ${incarnation} ${request}`;
    const lastSent = this.#reports.get(jobUid)?.lastSent;
    const nowMs = this.#monotonicMs();
    const before = lastSent?.get(podUid);
    if (before?.what === what && nowMs - before.atMs < RESEND_AFTER_MS) return;
    lastSent?.set(podUid, { what, atMs: nowMs });
    // Before the assignment: the launcher verifies these checkpoints before it starts the ranks.
    const verify = message.kind === 'assignment' ? to && verifyWantedOf(to.gang, to.podIndex) : undefined;
    if (verify !== undefined) this.#send({ ...addressed, message: verify });
    this.#send(addressed);
  }
}

function isChange(before: PlacedLauncher | undefined, { state, incarnation, memorySaves }: PlacedLauncher): boolean {
  const isSame =
    before?.state === state && before.incarnation === incarnation && isDeepStrictEqual(before.memorySaves, memorySaves);
  return !isSame && (state === 'reaped' || (state === 'running' && incarnation > 1));
}

/**
 * Who was given an incarnation that is over by now, and has said nothing of it, may be about to begin it: it counts as running it until it says that
 * it has ended it.
 */
function withAssignments({ launchers, assigned }: ReportsOfEpoch, newest: number): ReadonlyMap<string, PlacedLauncher> {
  const isOpen = (podUid: string, { incarnation }: PlacedLauncher): boolean => {
    const last = assigned.get(podUid) ?? 0;
    return last > incarnation && last < newest;
  };
  if (![...launchers].some(([podUid, launcher]) => isOpen(podUid, launcher))) return launchers;
  return new Map(
    [...launchers].map(([podUid, launcher]): [string, PlacedLauncher] => {
      const { podIndex, epoch } = launcher;
      const incarnation = assigned.get(podUid) ?? 0;
      return [podUid, isOpen(podUid, launcher) ? { podIndex, epoch, incarnation, state: 'running' } : launcher];
    }),
  );
}

/**
 * One launcher for each pod of the gang: that of the pod in the cache, or the last one to report if the cache has none. Otherwise the launcher of a replaced
 * pod could hide that of its successor.
 */
function onePerPod(
  launchers: ReadonlyMap<string, PlacedLauncher>,
  gang: NewestGang | undefined,
): ReadonlyMap<string, PlacedLauncher> {
  const uids = new Map<number, string>();
  for (const [podUid, { podIndex, epoch }] of launchers) {
    const known = epoch === gang?.attempt.epoch ? gang.podUidOf(podIndex) : undefined;
    if (known === undefined || known === podUid) uids.set(podIndex, podUid);
  }
  const isIts = ([podUid, { podIndex }]: [string, PlacedLauncher]): boolean => uids.get(podIndex) === podUid;
  return [...launchers].every(isIts) ? launchers : new Map([...launchers].filter(isIts));
}

/** Whether only a new report or a new incarnation could require another message. */
function isSettled(launchers: ReadonlyMap<string, PlacedLauncher>, gang: NewestGang | undefined): boolean {
  if (gang?.attempt.stage === 'Stopping' || gang?.attempt.stage === 'Ended') return true;
  const { epoch, incarnation: newest = 1 } = gang?.attempt ?? { epoch: undefined };
  return [...launchers.values()].every((launcher) => {
    const isThere = launcher.state === 'running' && launcher.incarnation >= newest;
    return isThere || (epoch !== undefined && launcher.epoch < epoch);
  });
}

function toMessage(
  order: LauncherOrder,
  { gang, podIndex }: { readonly gang: NewestGang; readonly podIndex: number },
): RankMessage['message'] | undefined {
  if (order.kind === 'endRanks') {
    const { epoch, incarnation } = order;
    return { kind: 'endRanks', epoch, incarnation, message: 'another incarnation begins' };
  }
  const assignment = assignmentOf(gang, podIndex);
  return assignment && { kind: 'assignment', assignment };
}
