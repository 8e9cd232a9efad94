import type { Attempt, PlacementSpec, TrainingJob } from '@coxswain/api-types';
import {
  assignmentOf,
  isPauseOver,
  launcherOrders,
  type LauncherOrder,
  type PlacedLauncher,
} from '@coxswain/lifecycle';
import type { LauncherMail } from './ingest-messages.ts';
import type { LauncherWord } from './launcher-words.ts';

/** A job, its newest attempt and the recorded placement of that. */
export interface NewestGang {
  readonly job: TrainingJob;
  readonly attempt: Attempt;
  readonly placement: PlacementSpec;
}

interface SaidOfEpoch {
  readonly epoch: number;
  readonly launchers: Map<string, PlacedLauncher>;
  /** Newest incarnation that each was told to begin. */
  readonly given: Map<string, number>;
}

const NOTHING: ReadonlyMap<string, PlacedLauncher> = new Map();

/**
 * What every launcher last said of its ranks, and what it is therefore told: its ranks, or to end those of an earlier incarnation. A process that
 * has just begun to lead knows nobody, and learns it from whoever connects. What is told stands on the job's status as it is seen; a launcher that
 * has gone further does nothing then.
 */
export class LauncherDesk {
  readonly #gangOf: (jobUid: string) => NewestGang | undefined;
  readonly #send: (mail: LauncherMail) => void;
  readonly #now: () => Date;
  readonly #said = new Map<string, SaidOfEpoch>();
  /** Jobs with a launcher that does not run the newest incarnation: looked at again and again. */
  readonly #unsettled = new Set<string>();

  constructor(parts: {
    /** As far as it is seen at the moment. */
    readonly gangOf: (jobUid: string) => NewestGang | undefined;
    readonly send: (mail: LauncherMail) => void;
    readonly now: () => Date;
  }) {
    this.#gangOf = parts.gangOf;
    this.#send = parts.send;
    this.#now = parts.now;
  }

  /**
   * Launchers have said something; whoever is to be told something for it is told. Answers with the jobs of which one has ended ranks since, or
   * has begun to run a later incarnation than the first, for which a job's status is to be looked at.
   */
  hear(words: readonly LauncherWord[]): readonly string[] {
    const news = new Set<string>();
    for (const { jobUid, podUid, ...launcher } of words) {
      const known = this.#said.get(jobUid);
      if (known !== undefined && known.epoch > launcher.epoch) continue;
      const said: SaidOfEpoch =
        known?.epoch === launcher.epoch
          ? known
          : { epoch: launcher.epoch, launchers: new Map<string, PlacedLauncher>(), given: new Map<string, number>() };
      // What was said late of an incarnation before does not undo what the launcher has said of the next one.
      if ((said.launchers.get(podUid)?.incarnation ?? 0) > launcher.incarnation) continue;
      if (isNews(said.launchers.get(podUid), launcher)) news.add(jobUid);
      said.launchers.set(podUid, launcher);
      this.#said.set(jobUid, said);
    }
    for (const jobUid of new Set(words.map((word) => word.jobUid))) this.look(jobUid);
    return [...news];
  }

  /** What the launchers of the newest epoch that was heard of said, by their pods' UIDs. */
  ofJob(jobUid: string): ReadonlyMap<string, PlacedLauncher> {
    const said = this.#said.get(jobUid);
    return said === undefined ? NOTHING : asGiven(said, this.#gangOf(jobUid)?.attempt.incarnation ?? 1);
  }

  /** Status or time may have changed what is to be told to launchers of jobs that are not where they are to be. */
  lookAgain(): void {
    for (const jobUid of [...this.#unsettled]) this.look(jobUid);
  }

  /** Tells the launchers of the job what they are to be told now. */
  look(jobUid: string): void {
    const launchers = this.ofJob(jobUid);
    const gang = this.#gangOf(jobUid);
    if (isSettled(launchers, gang)) this.#unsettled.delete(jobUid);
    else this.#unsettled.add(jobUid);
    if (gang === undefined) return;
    const { attempt, placement } = gang;
    const { notBefore } = gang.job.status ?? {};
    const isDue = isPauseOver({ notBefore, delaySeconds: gang.job.spec.restartPolicy.delaySeconds }, this.#now());
    const orders = launcherOrders({ attempt, podCount: placement.nodes.length, launchers, isDue });
    for (const [podUid, order] of orders) {
      const message = toMessage(order, { gang, podIndex: launchers.get(podUid)?.podIndex ?? 0 });
      if (order.kind === 'assign') this.#said.get(jobUid)?.given.set(podUid, attempt.incarnation ?? 1);
      if (message !== undefined) this.#send({ jobUid, epoch: attempt.epoch, podUid, message });
    }
  }

  /** The job is gone. */
  forget(jobUid: string): void {
    this.#said.delete(jobUid);
    this.#unsettled.delete(jobUid);
  }

  /** Jobs of which a launcher is remembered; for tests of memory. */
  get size(): number {
    return this.#said.size;
  }
}

function isNews(before: PlacedLauncher | undefined, { state, incarnation }: PlacedLauncher): boolean {
  const isSame = before?.state === state && before.incarnation === incarnation;
  return !isSame && (state === 'reaped' || (state === 'running' && incarnation > 1));
}

/**
 * Who was given an incarnation that is over by now, and has said nothing of it, may be about to begin it: it counts as running it until it says that
 * it has ended it.
 */
function asGiven({ launchers, given }: SaidOfEpoch, newest: number): ReadonlyMap<string, PlacedLauncher> {
  const isOpen = (podUid: string, { incarnation }: PlacedLauncher): boolean => {
    const last = given.get(podUid) ?? 0;
    return last > incarnation && last < newest;
  };
  if (![...launchers].some(([podUid, launcher]) => isOpen(podUid, launcher))) return launchers;
  return new Map(
    [...launchers].map(([podUid, launcher]): [string, PlacedLauncher] => {
      const { podIndex, epoch } = launcher;
      const incarnation = given.get(podUid) ?? 0;
      return [podUid, isOpen(podUid, launcher) ? { podIndex, epoch, incarnation, state: 'running' } : launcher];
    }),
  );
}

/** Whether nothing but a change of what was said, or a new incarnation, could give reason to tell somebody something. */
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
): LauncherMail['message'] | undefined {
  if (order.kind === 'endRanks') {
    const { epoch, incarnation } = order;
    return { kind: 'endRanks', epoch, incarnation, message: 'another incarnation begins' };
  }
  const assignment = assignmentOf(gang, podIndex);
  return assignment && { kind: 'assignment', assignment };
}
