import {
  LISTENS_TO_NOT_FINITE,
  LISTENS_TO_WATERMARKS,
  REPORT_TOKEN_AUDIENCE,
  type LauncherMessage,
  type OperatorMessage,
  type StepReport,
} from '@coxswain/api-types';
import { cutText } from '@coxswain/safe-text';
import { incarnationOf, isHostAndPort, parseFrame, ranksAreOf, whyAnother } from './launcher-frames.ts';
import type {
  Pace,
  ReportingPod,
  ReportPorts,
  SessionConnection,
  SessionContext,
  SessionLink,
  SavedByRanks,
} from './session-ports.ts';

type Refusal = Extract<OperatorMessage, { kind: 'refused' }>;
type PodIdentity = Parameters<ReportPorts['findPod']>[0];
type MessageOf<K extends LauncherMessage['kind']> = Extract<LauncherMessage, { kind: K }>;

/** So many frames of a launcher that is known may be wrong before its connection is given up: one is an accident, this many are not. */
const MAX_MALFORMED = 20;
/** A launcher that comes while nobody leads waits so long: a lease that runs out, and the new leader's first look. */
const VACANCY_MS = 15_000;
const VACANCY_POLL_MS = 250;
const CARRIES_CURRENT_STATE: readonly LauncherMessage['kind'][] = ['hello', 'heartbeat', 'reaped'];
/** Before a launcher that has heard nothing asks whether somebody is there. */
const ACKNOWLEDGED_STEPS_MS = 2_000;
/** Waits between tries to write a checkpoint; after them the launcher is told to come again. */
const CHECKPOINT_RETRY_MS = [500, 1_000, 2_000, 4_000, 8_000] as const;

/**
 * The operator's side of one launcher's connection. Identity is settled once, at `hello`; that this replica leads and that the epoch
 * is the newest is looked at for every message. Nothing that a launcher says can throw.
 */
export class ReportSession {
  readonly #context: SessionContext;
  readonly #link: SessionLink;
  readonly #connection: SessionConnection;
  #pod: ReportingPod | undefined;
  #podUid = '';
  #bootId = '';
  #leave: (() => void) | undefined;
  #stopWaiting: (() => void) | undefined;
  #state: string | undefined;
  #malformed = 0;
  #hasGreeted = false;
  #ended = false;
  #pace: Pace | undefined;
  #sentPace: Pace | undefined;
  #acknowledgedAtMs = 0;

  constructor(context: SessionContext, connection: SessionConnection) {
    this.#context = context;
    this.#link = connection.link;
    this.#connection = connection;
    this.#pace = connection.pace;
  }

  /** The pod's UID once it is known to be who it says. */
  get podUid(): string | undefined {
    return this.#pod === undefined ? undefined : this.#podUid;
  }

  /** A follower says so at once, if it knows where the leader is. Answers whether the session goes on. */
  start(): boolean {
    return this.#isVacant() || this.#refuseUnlessLeading();
  }

  /** So many steps may this launcher tell from now on. */
  setRate(pace: Pace): void {
    this.#pace = pace;
    const sent = this.#sentPace;
    if (this.#pod === undefined || this.#ended) return;
    if (sent?.stepsPerSecond === pace.stepsPerSecond && sent.gatherMs === pace.gatherMs) return;
    this.#sentPace = pace;
    this.#link.send({ kind: 'pace', ...pace });
  }

  /** One frame; to be called for one at a time, in order. */
  async receive(frame: string): Promise<void> {
    if (this.#ended) return;
    const message = parseFrame(frame);
    if (message === undefined) return this.#dropMalformed('the frame is not a message of this protocol');
    this.#context.count('message');
    if (message.kind === 'hello') return this.#greet(message);
    if (this.#refuseUnlessLeading()) await this.#handle(message);
  }

  /** The connection is gone, or is to go. */
  end(): void {
    this.#ended = true;
    this.#stopWaiting?.();
    this.#leave?.();
    this.#leave = undefined;
  }

  /** Says why and closes. */
  refuse(refusal: Omit<Refusal, 'kind'>): void {
    if (this.#ended) return;
    this.#context.count(`refused_${refusal.code}`);
    this.#link.send({ kind: 'refused', ...refusal });
    this.end();
    this.#link.close();
  }

  async #greet(hello: MessageOf<'hello'>): Promise<void> {
    if (this.#hasGreeted) return this.#dropMalformed('hello was said before');
    this.#hasGreeted = true;
    this.#connection.onHello?.();
    const identity = await this.#authenticate(hello);
    if (identity === undefined) return;
    if (!this.#isVacant()) return this.#welcome(hello, identity);
    if (!(await this.#admitWaiter(identity))) return;
    // Not awaited: the socket is read on meanwhile, so that a launcher that waits sees that somebody is there.
    void this.#waitForLeader().then(() => this.#welcome(hello, identity));
  }

  /**
   * Anybody with a pod has a token, and may say of any leader that it is gone: only one connection of each pod of a gang waits here. Until that is known
   * it has a stranger's place.
   */
  async #admitWaiter(identity: PodIdentity): Promise<boolean> {
    const isKnown = await this.#context.ports.isKnownPod(identity);
    if (this.#ended) return false;
    this.#stopWaiting = isKnown ? this.#context.waiting.enter(identity.uid, () => this.#yield()) : undefined;
    if (this.#stopWaiting !== undefined) this.#connection.onIdentified?.();
    else if (isKnown) this.#refused('notReady', 'too many launchers wait here for the next leader');
    else this.#refused('notReady', 'nobody leads, and this replica does not know the pod');
    return !this.#ended;
  }

  /**
   * Nobody leads now, or the leader that is known here is said to be gone: sooner or later this replica or another one leads. Launchers that wait
   * here have their handshakes behind them when that is known, and are welcome at once.
   */
  async #waitForLeader(): Promise<void> {
    for (let waitedMs = 0; waitedMs < VACANCY_MS && !this.#ended && this.#isVacant(); waitedMs += VACANCY_POLL_MS) {
      await this.#context.sleep(VACANCY_POLL_MS);
    }
  }

  #isVacant(): boolean {
    const leadership = this.#context.ports.leadership();
    if (leadership.leading) return false;
    return leadership.leaderUrl === undefined || leadership.leaderUrl === this.#connection.unreachable;
  }

  async #welcome(hello: MessageOf<'hello'>, identity: PodIdentity): Promise<void> {
    if (this.#ended || !this.#refuseUnlessLeading()) return;
    const found = await this.#findPod(hello, identity);
    if (found === undefined || this.#ended || !this.#refuseUnlessLeading()) return;
    this.#connection.onIdentified?.();
    this.#stopWaiting?.();
    this.#pod = found;
    this.#podUid = hello.podUid;
    this.#bootId = hello.bootId;
    if (!this.#refuseUnlessCurrent(found)) return;
    this.#recordContact(found);
    const leadership = this.#context.ports.leadership();
    this.#link.send({ kind: 'welcome', leaderTerm: leadership.leading ? leadership.term : 0 });
    this.#link.send({ kind: 'listensTo', parts: [LISTENS_TO_WATERMARKS, LISTENS_TO_NOT_FINITE] });
    this.#leave = this.#context.rendezvous.join(found, {
      podIndex: found.podIndex,
      podUid: hello.podUid,
      send: (message) => this.#link.send(message),
      refuse: (message) => this.refuse({ code: 'staleEpoch', message }),
      replace: () => this.#yield(),
    });
    this.#announceRendezvous(found, hello);
    this.#recordState(found, hello);
    this.#acknowledge(hello);
    if (this.#pace !== undefined) this.setRate(this.#pace);
  }

  /** Who is it? Its token says which pod, and hello must agree. */
  async #authenticate(hello: MessageOf<'hello'>): Promise<PodIdentity | undefined> {
    const { authenticator } = this.#context;
    if (this.#connection.token === undefined) return this.#refused('unauthenticated', 'no bearer token was presented');
    const answer = await authenticator.authenticate(this.#connection.token, [REPORT_TOKEN_AUDIENCE]);
    if (answer.kind === 'unavailable') return this.#refused('notReady', 'the token cannot be checked at the moment');
    if (answer.kind === 'refused') return this.#refused('unauthenticated', 'the token is not valid for this endpoint');
    const { pod, namespace } = answer.identity;
    if (pod === undefined || pod.uid !== hello.podUid) {
      return this.#refused('unauthenticated', `the token was not made for the pod of UID ${hello.podUid}`);
    }
    return { namespace, ...pod };
  }

  /** What is it? The cluster says which pod of which gang, and hello must agree. */
  async #findPod(hello: MessageOf<'hello'>, pod: PodIdentity): Promise<ReportingPod | undefined> {
    const found = await this.#context.ports.findPod(pod);
    if (found === 'unavailable') return this.#refused('notReady', 'the pod cannot be looked up at the moment');
    if (found === 'unknown') return this.#refused('unknownPod', `${pod.namespace}/${pod.name} is not a pod of a gang`);
    const why = whyAnother(found, hello);
    return why === undefined ? found : this.#refused('unauthenticated', why);
  }

  async #handle(message: Exclude<LauncherMessage, { kind: 'hello' }>): Promise<void> {
    const pod = this.#pod;
    if (pod === undefined) return this.refuse({ code: 'malformed', message: 'the first message must be hello' });
    if (message.podUid !== this.#podUid || message.epoch !== pod.epoch) {
      return this.#dropMalformed('the message names another pod or epoch than hello did');
    }
    if (!this.#refuseUnlessCurrent(pod)) return;
    this.#recordContact(pod);
    if (!ranksAreOf(message, pod)) return this.#dropMalformed('the message speaks of ranks of another pod');
    this.#announceRendezvous(pod, message);
    this.#recordState(pod, message);
    const isNew = this.#context.deduplicator.isNew(this.#podUid, { bootId: this.#bootId, sequence: message.sequence });
    if (!isNew) this.#context.count('duplicate');
    // Checkpoints are written under a name of their own, so a repetition is harmless; a forgotten one would not be.
    const counts = (isNew || message.kind === 'checkpointSaved') && this.#isOfCurrentRanks(pod, message);
    const done = counts ? await this.#perform(pod, message) : true;
    if (done) this.#acknowledge(message);
  }

  /** Answers whether the message is dealt with and may be acknowledged. */
  async #perform(pod: ReportingPod, message: Exclude<LauncherMessage, { kind: 'hello' }>): Promise<boolean> {
    const { progress, ports } = this.#context;
    const { jobUid, epoch, podIndex } = pod;
    const incarnation = incarnationOf(message);
    switch (message.kind) {
      case 'heartbeat':
        this.#context.health.heartbeat({ ...pod, incarnation }, message);
        return true;
      case 'reaped':
        return true;
      case 'step':
        this.#performSteps({ ...pod, incarnation }, [message.report]);
        return true;
      case 'steps':
        this.#performSteps({ ...pod, incarnation }, message.reports);
        this.#recordMissed(message.skipped);
        return true;
      case 'preflightBoard':
        this.#performBoard(pod, message);
        return true;
      case 'preflight':
        this.#context.recordPreflight({ jobUid, epoch, podIndex, podUid: this.#podUid, report: message.report });
        return true;
      case 'trained':
        this.#context.recordTrained({ jobUid, epoch, podIndex, incarnation, rank: message.rank, facts: message.facts });
        return true;
      case 'stacks':
        this.#context.recordStacks({ jobUid, epoch, podIndex }, message.stacks);
        return true;
      case 'resumed':
        progress.recordResumed({ ...pod, incarnation }, message.step);
        return true;
      case 'checkpointSaved':
        return this.#performCheckpoint(pod, { ...message.checkpoint, incarnation });
      case 'ended':
        // Only a hint to look sooner: what counts is the pod's own status and termination message.
        ports.onNews(pod, 'ended');
        return true;
    }
  }

  /** Only of rank 0's pod is it asked. */
  #performBoard(pod: ReportingPod, { address, key }: MessageOf<'preflightBoard'>): void {
    if (pod.ranks[0] === 0 && isHostAndPort(address)) this.#context.rendezvous.announceBoard(pod, { address, key });
    else this.#dropMalformed(`"${cutText(address, 64)}" is not where the pods of the gang are to meet`);
  }

  #performSteps(pod: ReportingPod & { readonly incarnation: number }, reports: readonly StepReport[]): void {
    const at = this.#context.now().toISOString();
    for (const report of reports) this.#performStep(pod, report, at);
  }

  #performStep(pod: ReportingPod & { readonly incarnation: number }, report: StepReport, at: string): void {
    const { progress, series, ports, health } = this.#context;
    if (pod.totalSteps !== undefined && report.step > pod.totalSteps) {
      return this.#dropMalformed(`step ${report.step} is beyond the job's ${pod.totalSteps}`);
    }
    const { jobUid, namespace, jobName, epoch } = pod;
    const stepTimeMs = report.ranks.reduce((slowest, rank) => Math.max(slowest, rank.stepTimeMs), 0);
    const { notFinite: _, ...point } = report;
    const step = { at, jobUid, namespace, jobName, epoch, stepTimeMs, ...point };
    series.append(step);
    health.step(pod, report);
    this.#context.count('step');
    if (progress.recordStep(pod, step)) ports.onNews(pod, 'progress');
  }

  /** The series has a gap there. */
  #recordMissed(steps: number): void {
    if (steps === 0) return;
    this.#context.series.miss(steps);
    this.#context.count('step_missed', steps);
  }

  async #performCheckpoint(pod: ReportingPod, saved: SavedByRanks): Promise<boolean> {
    const { ports, sleep } = this.#context;
    for (const delayMs of [...CHECKPOINT_RETRY_MS, undefined]) {
      if (this.#ended || !this.#refuseUnlessLeading()) return false;
      const outcome = await ports.recordCheckpoint(pod, saved).catch(() => 'failed' as const);
      if (outcome === 'stale') {
        this.#refused('staleEpoch', `epoch ${pod.epoch} has failed or been replaced by a later one`);
        return false;
      }
      if (outcome !== 'failed') return true;
      if (delayMs !== undefined) await sleep(delayMs);
    }
    this.#refused('notReady', 'the checkpoint cannot be recorded at the moment');
    return false;
  }

  #recordContact({ jobUid, epoch }: ReportingPod): void {
    this.#context.recordContact({ jobUid, epoch, podUid: this.#podUid });
  }

  /** Whoever runs rank 0 says where the others of the same incarnation meet it. */
  #announceRendezvous(pod: ReportingPod, message: LauncherMessage): void {
    const { rendezvous: address } = message;
    if (address === null || pod.ranks[0] !== 0) return;
    const gang = { ...pod, incarnation: incarnationOf(message) };
    if (isHostAndPort(address)) this.#context.rendezvous.announce(gang, address);
    else this.#dropMalformed(`the rendezvous address "${cutText(address, 64)}" is not host:port`);
  }

  /**
   * What is told again on each connection, as a saved checkpoint is, repeats what was so when it was first told: it says nothing of now. Of
   * `reaped` only the message of that name counts, which brings the cause.
   */
  #recordState(pod: ReportingPod, message: LauncherMessage): void {
    const { state, incarnation = 0 } = message;
    if (!CARRIES_CURRENT_STATE.includes(message.kind)) return;
    if (state === undefined || (state === 'reaped') !== (message.kind === 'reaped')) return;
    const reported = `${state} ${incarnation}`;
    if (reported === this.#state && message.kind === 'heartbeat') return;
    this.#state = reported;
    const { jobUid, epoch, podIndex } = pod;
    const cause = message.kind === 'reaped' ? message.cause : undefined;
    const report = { jobUid, epoch, podIndex, podUid: this.#podUid, incarnation, state };
    this.#context.recordLauncher(cause === undefined ? report : { ...report, cause });
  }

  /** Nothing that was done by an incarnation before the newest is believed; a later one than is seen here was begun by whoever leads. */
  #isOfCurrentRanks(pod: ReportingPod, message: LauncherMessage): boolean {
    return incarnationOf(message) >= this.#context.ports.currentIncarnation(pod.jobUid);
  }

  /**
   * Of steps none is told again, so nobody waits for their acknowledgement, and thousands of them a second would cost more than the steps themselves: one
   * now and then shows the launcher that it is heard.
   */
  #acknowledge(message: LauncherMessage): void {
    if (this.#ended) return;
    const nowMs = this.#context.now().getTime();
    const isNews = message.kind !== 'step' && message.kind !== 'steps';
    if (!isNews && Math.abs(nowMs - this.#acknowledgedAtMs) < ACKNOWLEDGED_STEPS_MS) return;
    this.#acknowledgedAtMs = nowMs;
    this.#link.send({ kind: 'ack', sequence: message.sequence });
  }

  #refuseUnlessLeading(): boolean {
    const leadership = this.#context.ports.leadership();
    if (leadership.leading) return true;
    const { leaderUrl } = leadership;
    this.refuse({
      code: 'notLeader',
      message: 'another replica leads',
      ...(leaderUrl === undefined ? {} : { leaderUrl }),
    });
    return false;
  }

  #refuseUnlessCurrent(pod: ReportingPod): boolean {
    const current = this.#context.ports.currentEpoch(pod.jobUid);
    if (current === pod.epoch && !this.#context.ports.isFenced(pod)) return true;
    if (current === pod.epoch) this.#refused('staleEpoch', `epoch ${pod.epoch} is over`);
    else if (current === undefined) this.#refused('unknownPod', 'the job of this pod does not exist');
    else if (current > pod.epoch) {
      this.#refused('staleEpoch', `epoch ${pod.epoch} has been replaced by epoch ${current}`);
    } else this.#refused('notReady', `epoch ${pod.epoch} has not been seen here yet`);
    return false;
  }

  #yield(): void {
    this.refuse({ code: 'notReady', message: 'a newer connection of this pod took its place' });
  }

  #refused(code: Refusal['code'], message: string): undefined {
    this.refuse({ code, message });
    return undefined;
  }

  #dropMalformed(why: string): void {
    this.#context.count('malformed');
    this.#malformed += 1;
    if (this.#pod === undefined || this.#malformed > MAX_MALFORMED)
      this.refuse({ code: 'malformed', message: cutText(why, 1024) });
  }
}
