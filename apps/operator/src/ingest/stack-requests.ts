/** In the middle of what are the ranks of a job? Asked of all its launchers at once, in bounds, whoever asks. */
import { type JobStacks, MAX_RANKS_PER_POD, parseRanks, type PodStacks, STACKS_WITHIN_MS } from '@coxswain/api-types';
import { type StackBounds, stackEvidence, StackGathering } from '@coxswain/health';
import type { Clock } from '@coxswain/kube';
import type { GangRoster, RunOfRanks } from './health-watch.ts';
import type { Rendezvous } from './rendezvous.ts';

/** Questions under way, each of which may hold some megabytes, and of one namespace: nobody waits for others' jobs. */
const MOST_AT_ONCE = 12;
const MOST_OF_NAMESPACE = 3;
/** Beyond these, for incidents: whoever keeps all others busy does not keep a hang from its stacks. */
const FOR_INCIDENTS = 4;
/** An incident waits so long for a place, and looks so often. */
const INCIDENT_WAITS_MS = 4_000;
const INCIDENT_LOOKS_MS = 500;
/** Launchers wait for their ranks; then their answers have to arrive, which on a busy connection takes a second or two. */
const WITHIN_MS = STACKS_WITHIN_MS + 3_000;
/** From the start of one question about a job to that of the next. Answers of 2,048 pods keep this thread busy for a second. */
const PAUSE_MS = { least: 2_000, perPod: 5 } as const;
/** Of the frames of all pods together, divided among them; none gets more than it could send, and none so little that one stack does not fit. */
const BYTES = { inAll: 25_165_824, least: 8_192, most: 196_608 } as const;
/** Of what a launcher may send, for answers. */
const SHARE_OF_RATE = 0.5;
/** Of an answer. */
const MOST_CHARACTERS = 1_048_576;
const BOUNDS: StackBounds = { firstThreads: 512, otherThreads: 256, characters: 2 * MOST_CHARACTERS };

/** Which job, and whether one rank of it alone is asked for: then its pod alone is asked. */
export interface StackQuestion {
  readonly jobUid: string;
  readonly rank?: number | undefined;
}

export type StackAnswer =
  | { readonly kind: 'taken'; readonly stacks: JobStacks }
  /** No gang of it is seen. */
  | { readonly kind: 'noGang' }
  | { readonly kind: 'noSuchRank'; readonly rankCount: number }
  /** This job was asked a moment ago, or others are being asked. */
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
  /** Pods that have not answered. */
  readonly waiting: Map<number, Pod>;
  readonly gathering: StackGathering;
  /** What each may send, and the most that one sent. */
  readonly maxBytes: number;
  largestBytes: number;
  readonly answered: PromiseWithResolvers<void>;
  answer: Promise<StackAnswer>;
}

export class StackRequests {
  readonly #rendezvous: Pick<Rendezvous, 'membersOf'>;
  readonly #rosterOf: (jobUid: string) => Promise<GangRoster | undefined>;
  readonly #clock: Pick<Clock, 'now' | 'monotonicMs' | 'setTimer'>;
  readonly #kilobytesPerSecond: () => number;
  readonly #underWay = new Map<string, Asking>();
  /** When a job may be asked again. */
  readonly #notBeforeMs = new Map<string, number>();
  #requests = 0;

  constructor(parts: {
    readonly rendezvous: Pick<Rendezvous, 'membersOf'>;
    /** Must not reject. */
    readonly rosterOf: (jobUid: string) => Promise<GangRoster | undefined>;
    readonly clock: Pick<Clock, 'now' | 'monotonicMs' | 'setTimer'>;
    /** That one launcher may send: what is faster is read later, its heartbeats with it. */
    readonly kilobytesPerSecond: () => number;
  }) {
    this.#kilobytesPerSecond = parts.kilobytesPerSecond;
    this.#rendezvous = parts.rendezvous;
    this.#rosterOf = parts.rosterOf;
    this.#clock = parts.clock;
  }

  /** Whoever asks the same while it is under way gets the same answer. */
  take(question: StackQuestion): Promise<StackAnswer> {
    return this.#take(question, { isPaced: true });
  }

  async #take(question: StackQuestion, { isPaced }: { readonly isPaced: boolean }): Promise<StackAnswer> {
    const roster = await this.#rosterOf(question.jobUid);
    if (roster === undefined) return { kind: 'noGang' };
    const pods = podsOf(roster);
    const asked = question.rank === undefined ? pods : pods.filter(({ ranks }) => ranks.includes(question.rank ?? -1));
    if (asked.length === 0) return { kind: 'noSuchRank', rankCount: pods.flatMap(({ ranks }) => ranks).length };
    const underWay = this.#underWay.get(question.jobUid);
    if (underWay?.rank === question.rank && underWay?.epoch === roster.epoch) return underWay.answer;
    const paused = isPaced ? this.#whenAgain(question.jobUid) : undefined;
    if (underWay !== undefined || this.#isBusy(roster.namespace, isPaced ? 0 : FOR_INCIDENTS)) return LATER_BUSY;
    return paused ?? this.#ask({ ...question, namespace: roster.namespace, epoch: roster.epoch }, asked);
  }

  /**
   * For an incident that names `ranks`, without regard to when people asked last; waits a few seconds for who asks now. Nothing where they cannot be had,
   * or another epoch has begun.
   */
  async evidenceOf(
    { jobUid, epoch }: Pick<RunOfRanks, 'jobUid' | 'epoch'>,
    ranks: readonly number[],
  ): Promise<Readonly<Record<string, string>>> {
    const untilMs = this.#clock.monotonicMs() + INCIDENT_WAITS_MS;
    let answer = await this.#take({ jobUid }, { isPaced: false });
    while (answer.kind === 'later' && this.#clock.monotonicMs() < untilMs) {
      await new Promise<void>((resolve) => this.#clock.setTimer(INCIDENT_LOOKS_MS, resolve));
      answer = await this.#take({ jobUid }, { isPaced: false });
    }
    return answer.kind === 'taken' && answer.stacks.epoch === epoch ? stackEvidence(answer.stacks, ranks) : {};
  }

  /** A launcher has answered. What comes too late, or was never asked for, is left alone. */
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
      // It was told how much may come of it; what is more would be held for everybody who asks.
      gathering.leaveOut(pod.ranks);
      return this.#noteAnswered(asking);
    }
    const told = new Set<number>();
    const ranksOf = (text: string): readonly number[] => {
      const ranks = parseRanks(text, MAX_RANKS_PER_POD);
      for (const rank of ranks) told.add(rank);
      return ranks;
    };
    for (const group of groups) gathering.add(ranksOf(group.ranks), group);
    for (const { ranks, why } of silent) gathering.addSilent(ranksOf(ranks), why, pod.node);
    gathering.leaveOut(ranksOf(leftOut));
    const untold = pod.ranks.filter((rank) => !told.has(rank));
    if (untold.length > 0) gathering.addSilent(untold, 'notRunning', pod.node);
    this.#noteAnswered(asking);
  }

  #noteAnswered({ waiting, answered }: Asking): void {
    if (waiting.size === 0) answered.resolve();
  }

  /** The job is gone. */
  forget(jobUid: string): void {
    this.#notBeforeMs.delete(jobUid);
    this.#underWay.get(jobUid)?.answered.resolve();
  }

  #whenAgain(jobUid: string): StackAnswer | undefined {
    const againInMs = (this.#notBeforeMs.get(jobUid) ?? 0) - this.#clock.monotonicMs();
    return againInMs > 0 ? { kind: 'later', why: 'asked', againInMs } : undefined;
  }

  #isBusy(namespace: string, more: number): boolean {
    const all = [...this.#underWay.values()];
    const ofNamespace = all.filter((one) => one.namespace === namespace);
    return all.length >= MOST_AT_ONCE + more || ofNamespace.length >= MOST_OF_NAMESPACE + more;
  }

  #ask(
    about: StackQuestion & { readonly namespace: string; readonly epoch: number },
    pods: readonly Pod[],
  ): Promise<StackAnswer> {
    const { jobUid, epoch } = about;
    const asking: Asking = {
      ...about,
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
    this.#tellLaunchers(asking, pods);
    asking.answer = this.#answer(asking, { rankCount: pods.flatMap(({ ranks }) => ranks).length, epoch });
    return asking.answer;
  }

  #tellLaunchers(asking: Asking, pods: readonly Pod[]): void {
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

  /** Long answers take half of what their launchers may send, however often people ask: heartbeats come beside them. */
  #restAfter({ jobUid, largestBytes }: Asking): void {
    if (!this.#notBeforeMs.has(jobUid)) return;
    const restMs = (largestBytes / 1_024 / (SHARE_OF_RATE * this.#kilobytesPerSecond())) * 1_000;
    const known = this.#notBeforeMs.get(jobUid) ?? 0;
    this.#notBeforeMs.set(jobUid, Math.max(known, this.#clock.monotonicMs() + restMs));
  }
}

const LATER_BUSY: StackAnswer = { kind: 'later', why: 'busy', againInMs: 1_000 };

/** Spares have no ranks. */
function podsOf({ nodes }: GangRoster): readonly Pod[] {
  const pods = nodes.map(({ node, ranks }, podIndex) => ({
    podIndex,
    node,
    ranks: parseRanks(ranks, MAX_RANKS_PER_POD),
  }));
  return pods.filter(({ ranks }) => ranks.length > 0);
}
