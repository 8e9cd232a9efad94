/** Collects current stack traces of a job's ranks from all its launchers at once, within limits. */
import { type JobStacks, MAX_RANKS_PER_POD, parseRanks, type PodStacks, STACKS_WITHIN_MS } from '@coxswain/api-types';
import { oddRanks, type StackBounds, stackEvidence, StackGathering } from '@coxswain/health';
import { NO_STACKS, type StackFindings } from './stack-findings.ts';
import type { Clock } from '@coxswain/kube';
import { type Claim, type PlaceBounds, TurnGate } from '@coxswain/units';
import type { GangRoster, RunOfRanks } from './health-reports.ts';
import type { Rendezvous } from './rendezvous.ts';

/** Concurrent collections, and requests that wait for one, in turns of namespaces. Each collection may hold some megabytes. */
const FOR_USERS: PlaceBounds = {
  places: 12,
  ofTenant: 3,
  ofMember: 3,
  slow: 0,
  slowOfTenant: 0,
  waiting: 64,
  waitingOfTenant: 6,
  quickInARow: 0,
};
/** Additional collections for incidents, so that requests by users never prevent the stack traces of a hang. */
const FOR_INCIDENTS: PlaceBounds = { ...FOR_USERS, places: 4 };
/** How long a request waits for its turn. The API waits 15 s for the answer, and a collection takes up to 8 s. */
const TURN_WAITS_MS = 5_000;
/** How long an incident waits for its turn or for another collection of its job, and how often it retries. */
const INCIDENT_WAITS_MS = 4_000;
const INCIDENT_LOOKS_MS = 500;
/** Time for launchers to collect from their ranks, plus 3 s for their answers to arrive on a busy connection. */
const WITHIN_MS = STACKS_WITHIN_MS + 3_000;
/** Minimum time between two collections from a job. Answers of 2,048 pods keep this thread busy for a second. */
const PAUSE_MS = { least: 2_000, perPod: 5 } as const;
/** Bytes for the answers of all pods, divided among them; bounded per pod so that a frame can be sent and at least one stack fits. */
const BYTES = { inAll: 25_165_824, least: 8_192, most: 196_608 } as const;
/** Share of a launcher's rate that answers may use. */
const SHARE_OF_RATE = 0.5;
/** Maximum size of the result. */
const MOST_CHARACTERS = 1_048_576;
const BOUNDS: StackBounds = { firstThreads: 512, otherThreads: 256, characters: 2 * MOST_CHARACTERS };

/** A job, and optionally one rank of it; then only the pod of that rank is asked. */
export interface StackQuestion {
  readonly jobUid: string;
  readonly rank?: number | undefined;
}

/** Stack traces of a job, or why there are none. */
export type StackAnswer =
  | { readonly kind: 'taken'; readonly stacks: JobStacks }
  /** The job has no running gang. */
  | { readonly kind: 'noGang' }
  | { readonly kind: 'noSuchRank'; readonly rankCount: number }
  /** asked: stack traces of this job were collected a moment ago. busy: too many collections are running. */
  | { readonly kind: 'later'; readonly why: 'asked' | 'busy'; readonly againInMs: number };

interface Pod {
  readonly podIndex: number;
  readonly node: string;
  readonly ranks: readonly number[];
}

interface Asking extends StackQuestion {
  readonly namespace: string;
  readonly epoch: number;
  readonly request: number;
  /** Pods without an answer so far. */
  readonly waiting: Map<number, Pod>;
  readonly gathering: StackGathering;
  /** Limit for each answer, and the size of the largest one. */
  readonly maxBytes: number;
  largestBytes: number;
  readonly answered: PromiseWithResolvers<void>;
  answer: Promise<StackAnswer>;
}

/** What is known of a request when its launchers can be asked. */
interface StackRequest extends StackQuestion {
  readonly namespace: string;
  readonly epoch: number;
}

/** A request that waits for its turn. */
interface Queued extends StackRequest {
  answer: Promise<StackAnswer>;
}

/** The turn of a request did not come. */
class NoTurnError extends Error {}

/** Collections of stack traces that run or ran recently. */
export class StackRequests {
  readonly #rendezvous: Pick<Rendezvous, 'membersOf'>;
  readonly #rosterOf: (jobUid: string) => Promise<GangRoster | undefined>;
  readonly #clock: Pick<Clock, 'now' | 'monotonicMs' | 'setTimer'>;
  readonly #kilobytesPerSecond: () => number;
  readonly #underWay = new Map<string, Asking>();
  readonly #queued = new Map<string, Queued>();
  readonly #forUsers: TurnGate;
  readonly #forIncidents: TurnGate;
  /** Earliest time of the next collection from each job. */
  readonly #notBeforeMs = new Map<string, number>();
  #requests = 0;

  constructor(parts: {
    readonly rendezvous: Pick<Rendezvous, 'membersOf'>;
    /** Must not reject. */
    readonly rosterOf: (jobUid: string) => Promise<GangRoster | undefined>;
    readonly clock: Pick<Clock, 'now' | 'monotonicMs' | 'setTimer'>;
    /** Rate of one launcher; above it, its frames are delayed, including heartbeats. */
    readonly kilobytesPerSecond: () => number;
  }) {
    this.#kilobytesPerSecond = parts.kilobytesPerSecond;
    this.#rendezvous = parts.rendezvous;
    this.#rosterOf = parts.rosterOf;
    this.#clock = parts.clock;
    this.#forUsers = this.#gateOf(FOR_USERS);
    this.#forIncidents = this.#gateOf(FOR_INCIDENTS);
  }

  #gateOf(bounds: PlaceBounds): TurnGate {
    return new TurnGate({
      bounds,
      waitMs: TURN_WAITS_MS,
      setTimer: (delayMs, fire) => this.#clock.setTimer(delayMs, fire),
      busy: (why) => new NoTurnError(why),
    });
  }

  /** Collects stack traces. Identical requests during a collection share its result. */
  take(question: StackQuestion): Promise<StackAnswer> {
    return this.#take(question, { isPaced: true });
  }

  async #take(question: StackQuestion, { isPaced }: { readonly isPaced: boolean }): Promise<StackAnswer> {
    const roster = await this.#rosterOf(question.jobUid);
    if (roster === undefined) return { kind: 'noGang' };
    const pods = podsOf(roster);
    const asked = question.rank === undefined ? pods : pods.filter(({ ranks }) => ranks.includes(question.rank ?? -1));
    if (asked.length === 0) return { kind: 'noSuchRank', rankCount: pods.flatMap(({ ranks }) => ranks).length };
    const request = { ...question, namespace: roster.namespace, epoch: roster.epoch };
    // An incident does not wait behind users.
    const pending = this.#underWay.get(question.jobUid) ?? (isPaced ? this.#queued.get(question.jobUid) : undefined);
    if (pending !== undefined) return isSame(pending, request) ? pending.answer : LATER_BUSY;
    const paused = isPaced ? this.#whenAgain(question.jobUid) : undefined;
    return paused ?? this.#askInTurn(request, asked, isPaced);
  }

  /** Asks the launchers when the namespace has its turn. An incident also takes one of the places for users, if one is free. */
  #askInTurn(request: StackRequest, pods: readonly Pod[], isPaced: boolean): Promise<StackAnswer> {
    const claim: Claim = { tenant: request.namespace, member: request.namespace, isSlow: false };
    const gates = isPaced ? [this.#forUsers] : [this.#forIncidents, this.#forUsers];
    for (const gate of gates) {
      const asked = gate.passNow(claim, () => this.#ask(request, pods));
      if (asked !== undefined) return asked;
    }
    const queued: Queued = { ...request, answer: Promise.resolve(LATER_BUSY) };
    if (isPaced) this.#queued.set(request.jobUid, queued);
    queued.answer = this.#askLater(isPaced ? this.#forUsers : this.#forIncidents, claim, { queued, pods });
    return queued.answer;
  }

  async #askLater(
    gate: TurnGate,
    claim: Claim,
    { queued, pods }: { readonly queued: Queued; readonly pods: readonly Pod[] },
  ): Promise<StackAnswer> {
    const { jobUid } = queued;
    const leave = (): void => {
      if (this.#queued.get(jobUid) === queued) this.#queued.delete(jobUid);
    };
    try {
      return await gate.pass(claim, () => {
        leave();
        return this.#askAgain(queued, pods);
      });
    } catch (error) {
      leave();
      if (error instanceof NoTurnError) return LATER_BUSY;
      throw error;
    }
  }

  /** The gang may have been restarted, or an incident may have asked while the request waited. */
  async #askAgain(queued: Queued, pods: readonly Pod[]): Promise<StackAnswer> {
    const roster = await this.#rosterOf(queued.jobUid);
    if (roster?.epoch !== queued.epoch) return LATER_BUSY;
    const underWay = this.#underWay.get(queued.jobUid);
    if (underWay === undefined) return this.#ask(queued, pods);
    return isSame(underWay, queued) ? underWay.answer : LATER_BUSY;
  }

  /**
   * Collects evidence for an incident that names `ranks`, regardless of recent collections. Waits a few seconds for a running one. {@link NO_STACKS} if stack traces are
   * unavailable or another attempt has begun.
   */
  async evidenceOf(
    { jobUid, epoch }: Pick<RunOfRanks, 'jobUid' | 'epoch'>,
    ranks: readonly number[],
  ): Promise<StackFindings> {
    const untilMs = this.#clock.monotonicMs() + INCIDENT_WAITS_MS;
    let answer = await this.#take({ jobUid }, { isPaced: false });
    while (answer.kind === 'later' && this.#clock.monotonicMs() < untilMs) {
      await new Promise<void>((resolve) => this.#clock.setTimer(INCIDENT_LOOKS_MS, resolve));
      answer = await this.#take({ jobUid }, { isPaced: false });
    }
    if (answer.kind !== 'taken' || answer.stacks.epoch !== epoch) return NO_STACKS;
    return { evidence: stackEvidence(answer.stacks, ranks), odd: oddRanks(answer.stacks.groups) };
  }

  /** Receives the answer of a launcher. Late and unrequested answers are ignored. */
  receive(
    { jobUid, epoch, podIndex }: { readonly jobUid: string; readonly epoch: number; readonly podIndex: number },
    { request, groups, silent, leftOut }: PodStacks,
  ): void {
    const asking = this.#underWay.get(jobUid);
    if (asking?.epoch !== epoch || asking.request !== request) return;
    const pod = asking.waiting.get(podIndex);
    if (pod === undefined) return;
    asking.waiting.delete(podIndex);
    const { gathering } = asking;
    const bytes = Buffer.byteLength(JSON.stringify({ groups, silent, leftOut }));
    asking.largestBytes = Math.max(asking.largestBytes, bytes);
    if (bytes > asking.maxBytes) {
      // The launcher knows the limit. A larger answer would have to be held for every request.
      gathering.leaveOut(pod.ranks);
      return this.#noteAnswered(asking);
    }
    const reported = new Set<number>();
    const ranksOf = (text: string): readonly number[] => {
      const ranks = parseRanks(text, MAX_RANKS_PER_POD);
      for (const rank of ranks) reported.add(rank);
      return ranks;
    };
    for (const group of groups) gathering.add(ranksOf(group.ranks), group);
    for (const { ranks, why } of silent) gathering.addSilent(ranksOf(ranks), why, pod.node);
    gathering.leaveOut(ranksOf(leftOut));
    const missing = pod.ranks.filter((rank) => !reported.has(rank));
    if (missing.length > 0) gathering.addSilent(missing, 'notRunning', pod.node);
    this.#noteAnswered(asking);
  }

  #noteAnswered({ waiting, answered }: Asking): void {
    if (waiting.size === 0) answered.resolve();
  }

  /** Drops the state of a deleted job. */
  forget(jobUid: string): void {
    this.#notBeforeMs.delete(jobUid);
    this.#underWay.get(jobUid)?.answered.resolve();
  }

  #whenAgain(jobUid: string): StackAnswer | undefined {
    const againInMs = (this.#notBeforeMs.get(jobUid) ?? 0) - this.#clock.monotonicMs();
    return againInMs > 0 ? { kind: 'later', why: 'asked', againInMs } : undefined;
  }

  #ask({ jobUid, rank, namespace, epoch }: StackRequest, pods: readonly Pod[]): Promise<StackAnswer> {
    const asking: Asking = {
      jobUid,
      rank,
      namespace,
      epoch,
      request: (this.#requests += 1),
      waiting: new Map(),
      gathering: new StackGathering(BOUNDS),
      maxBytes: Math.min(BYTES.most, Math.max(BYTES.least, Math.floor(BYTES.inAll / pods.length))),
      largestBytes: 0,
      answered: Promise.withResolvers(),
      answer: Promise.resolve({ kind: 'noGang' }),
    };
    this.#underWay.set(jobUid, asking);
    this.#notBeforeMs.set(jobUid, this.#clock.monotonicMs() + Math.max(PAUSE_MS.least, PAUSE_MS.perPod * pods.length));
    this.#askLaunchers(asking, pods);
    asking.answer = this.#answer(asking, { rankCount: pods.flatMap(({ ranks }) => ranks).length, epoch });
    return asking.answer;
  }

  #askLaunchers(asking: Asking, pods: readonly Pod[]): void {
    const { maxBytes } = asking;
    const members = new Map(this.#rendezvous.membersOf(asking).map((member) => [member.podIndex, member]));
    for (const pod of pods) {
      const member = members.get(pod.podIndex);
      if (member === undefined) asking.gathering.addSilent(pod.ranks, 'notConnected', pod.node);
      else {
        asking.waiting.set(pod.podIndex, pod);
        member.send({ kind: 'stacksWanted', request: asking.request, maxBytes });
      }
    }
  }

  async #answer(asking: Asking, about: Pick<JobStacks, 'epoch' | 'rankCount'>): Promise<StackAnswer> {
    const { jobUid, waiting, gathering, answered } = asking;
    const cancel = this.#clock.setTimer(WITHIN_MS, () => answered.resolve());
    if (waiting.size > 0) await answered.promise;
    cancel();
    for (const { ranks, node } of waiting.values()) gathering.addSilent(ranks, 'launcherSilent', node);
    if (this.#underWay.get(jobUid) === asking) this.#underWay.delete(jobUid);
    this.#restAfter(asking);
    const { groups, silent, leftOut } = gathering.result(MOST_CHARACTERS);
    const takenAt = this.#clock.now().toISOString();
    return { kind: 'taken', stacks: { takenAt, ...about, groups: [...groups], silent: [...silent], leftOut } };
  }

  /** Long answers use at most half of a launcher's rate, however often users ask, to leave room for heartbeats. */
  #restAfter({ jobUid, largestBytes }: Asking): void {
    if (!this.#notBeforeMs.has(jobUid)) return;
    const restMs = (largestBytes / 1_024 / (SHARE_OF_RATE * this.#kilobytesPerSecond())) * 1_000;
    const known = this.#notBeforeMs.get(jobUid) ?? 0;
    this.#notBeforeMs.set(jobUid, Math.max(known, this.#clock.monotonicMs() + restMs));
  }
}

const LATER_BUSY: StackAnswer = { kind: 'later', why: 'busy', againInMs: 1_000 };

function isSame(one: StackQuestion & { readonly epoch: number }, other: StackRequest): boolean {
  return one.rank === other.rank && one.epoch === other.epoch;
}

/** Spares have no ranks. */
function podsOf({ nodes }: GangRoster): readonly Pod[] {
  const pods = nodes.map(({ node, ranks }, podIndex) => ({
    podIndex,
    node,
    ranks: parseRanks(ranks, MAX_RANKS_PER_POD),
  }));
  return pods.filter(({ ranks }) => ranks.length > 0);
}
