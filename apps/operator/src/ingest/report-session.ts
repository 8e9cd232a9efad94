// A little over 400 lines: one session, from its hello to its end, is read in one place.
import {
  LISTENED_PARTS,
  REPORT_TOKEN_AUDIENCE,
  type LauncherMessage,
  type OperatorMessage,
  type StepReport,
} from '@coxswain/api-types';
import { cutText } from '@coxswain/safe-text';
import { incarnationOf, isHostAndPort, parseFrame, hasOnlyRanksOf, describeMismatch } from './launcher-frames.ts';
import { PodMarkTimes } from './pod-mark-times.ts';
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

/** Malformed frames of an identified launcher after which its connection ends. */
const MAX_MALFORMED = 20;
/** How long a launcher waits if there is no leader: until the lease expires and the new leader has synced its cache. */
const VACANCY_MS = 15_000;
const VACANCY_POLL_MS = 250;
const CARRIES_CURRENT_STATE: readonly LauncherMessage['kind'][] = ['hello', 'heartbeat', 'reaped'];
/** Shorter than the time after which a launcher without acknowledgements pings. */
const ACKNOWLEDGED_STEPS_MS = 2_000;
/** Delays between attempts to record a checkpoint; after them the operator closes the connection, and the launcher reconnects. */
const CHECKPOINT_RETRY_MS = [500, 1_000, 2_000, 4_000, 8_000] as const;

/**
 * The operator's side of one launcher's connection. Identity is checked once, at `hello`. Leadership and epoch are checked for every message. No message of
 * a launcher makes a session throw.
 */
export class ReportSession {
  readonly #context: SessionContext;
  readonly #link: SessionLink;
  readonly #connection: SessionConnection;
  #pod: ReportingPod | undefined;
  #identity: PodIdentity | undefined;
  #podUid = '';
  #bootId = '';
  #leave: (() => void) | undefined;
  #stopWaiting: (() => void) | undefined;
  #state: string | undefined;
  readonly #marks = new PodMarkTimes();
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

  /** The pod's UID, once its identity is confirmed. */
  get podUid(): string | undefined {
    return this.#pod === undefined ? undefined : this.#podUid;
  }

  /** A follower that knows the leader refuses at once. Returns whether the session continues. */
  start(): boolean {
    return this.#isVacant() || this.#refuseUnlessLeading();
  }

  /** Sets how many steps this launcher may send from now on. */
  setRate(pace: Pace): void {
    this.#pace = pace;
    const sent = this.#sentPace;
    if (this.#pod === undefined || this.#ended) return;
    if (sent?.stepsPerSecond === pace.stepsPerSecond && sent.gatherMs === pace.gatherMs) return;
    this.#sentPace = pace;
    this.#link.send({ kind: 'pace', ...pace });
  }

  /** Handles one frame. Call it for one frame at a time, in order. */
  async receive(frame: string): Promise<void> {
    if (this.#ended) return;
    const message = parseFrame(frame);
    if (message === undefined) return this.#dropMalformed('the frame is not a message of this protocol');
    this.#context.count('message');
    if (message.kind === 'hello') return this.#greet(message);
    if (this.#refuseUnlessLeading()) await this.#handle(message);
  }

  /** Ends the session of a connection that is closed or about to close. */
  end(): void {
    this.#ended = true;
    this.#stopWaiting?.();
    this.#leave?.();
    this.#leave = undefined;
  }

  /** Sends the reason and closes the connection. */
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
    // Not awaited, so that the socket is read and pings of a waiting launcher are answered.
    void this.#waitForLeader().then(() => this.#welcome(hello, identity));
  }

  /**
   * Admits a launcher to the places for waiting. Any pod has a token and may claim that the leader is gone, so each pod of a gang has only one waiting
   * connection. Until the pod is known, the connection counts as unidentified.
   */
  async #admitWaiter(pod: PodIdentity): Promise<boolean> {
    const isKnown = await this.#context.ports.isKnownPod(pod);
    if (this.#ended) return false;
    if (isKnown) this.#stopWaiting = this.#context.waiting.enter(pod.uid, (why) => this.#yield(why), pod.namespace);
    if (this.#stopWaiting !== undefined) this.#connection.onIdentified?.();
    else if (isKnown) this.#refused('notReady', 'too many launchers wait for the next leader on this replica; retry');
    else this.#refused('notReady', 'there is no leader, and this replica does not know the pod; retry');
    return !this.#ended;
  }

  /**
   * Waits while there is no leader, or the launcher cannot reach the known one. When a leader is elected, waiting launchers have finished their handshakes
   * and are welcomed at once.
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
    this.#identity = identity;
    this.#podUid = hello.podUid;
    this.#bootId = hello.bootId;
    if (!this.#refuseUnlessCurrent(found)) return;
    this.#recordContact(found);
    const leadership = this.#context.ports.leadership();
    this.#link.send({ kind: 'welcome', leaderTerm: leadership.leading ? leadership.term : 0 });
    this.#link.send({ kind: 'listensTo', parts: [...LISTENED_PARTS] });
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

  /** Which pod does the token identify? hello must name the same pod. */
  async #authenticate(hello: MessageOf<'hello'>): Promise<PodIdentity | undefined> {
    const { authenticator } = this.#context;
    if (this.#connection.token === undefined)
      return this.#refused('unauthenticated', 'the request has no bearer token');
    const answer = await authenticator.authenticate(this.#connection.token, [REPORT_TOKEN_AUDIENCE]);
    if (answer.kind === 'unavailable') return this.#refused('notReady', 'the token cannot be checked at the moment');
    if (answer.kind === 'refused') return this.#refused('unauthenticated', 'the token is not valid for this endpoint');
    const { pod, namespace } = answer.identity;
    if (pod === undefined || pod.uid !== hello.podUid) {
      return this.#refused('unauthenticated', `the token belongs to another pod than that of UID ${hello.podUid}`);
    }
    return { namespace, ...pod };
  }

  /** Finds the pod of the certificate in the cluster. `hello` must name the same pod. */
  async #findPod(hello: MessageOf<'hello'>, pod: PodIdentity): Promise<ReportingPod | undefined> {
    const found = await this.#context.ports.findPod(pod);
    if (found === 'unavailable') return this.#refused('notReady', 'the pod cannot be looked up at the moment');
    if (found === 'unknown') return this.#refused('unknownPod', `${pod.namespace}/${pod.name} is not a pod of a gang`);
    const mismatch = describeMismatch(found, hello);
    return mismatch === undefined ? found : this.#refused('unauthenticated', mismatch);
  }

  async #handle(message: Exclude<LauncherMessage, { kind: 'hello' }>): Promise<void> {
    const pod = this.#mayHoldOtherRanks(message) ? await this.#podNow() : this.#pod;
    if (this.#ended) return;
    if (pod === undefined) return this.refuse({ code: 'malformed', message: 'the first message must be hello' });
    if (message.podUid !== this.#podUid || message.epoch !== pod.epoch) {
      return this.#dropMalformed('the message names another pod or attempt than hello');
    }
    if (!this.#refuseUnlessCurrent(pod)) return;
    this.#recordContact(pod);
    if (!hasOnlyRanksOf(message, pod)) return this.#dropMalformed('the message names ranks of another pod');
    this.#announceRendezvous(pod, message);
    this.#recordState(pod, message);
    const isNew = this.#context.deduplicator.isNew(this.#podUid, { bootId: this.#bootId, sequence: message.sequence });
    if (!isNew) this.#context.count('duplicate');
    // Recording a checkpoint twice is harmless, because its name is unique; losing one is not.
    const counts = (isNew || message.kind === 'checkpointSaved') && this.#isOfCurrentRanks(pod, message);
    const done = counts ? await this.#perform(pod, message) : true;
    if (done) this.#acknowledge(message);
  }

  /** Whether the message is of a later incarnation than the known ranks of the pod: a standby gets ranks while it is connected. */
  #mayHoldOtherRanks(message: LauncherMessage): boolean {
    const since = this.#pod?.ranksSince;
    return since !== undefined && incarnationOf(message) > since;
  }

  /** The pod with the ranks that it holds now. */
  async #podNow(): Promise<ReportingPod | undefined> {
    const found = this.#identity && (await this.#context.ports.findPod(this.#identity));
    if (typeof found === 'object' && found.epoch === this.#pod?.epoch) this.#pod = found;
    return this.#pod;
  }

  /** Resolves with whether the message is handled and may be acknowledged. */
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
        if (message.cause.kind === 'finished') this.#context.health.finished({ ...pod, incarnation }, pod.ranks);
        // Only a hint to reconcile sooner; the pod's status and termination message are what counts.
        ports.onNews(pod, 'ended');
        return true;
    }
  }

  /** Only the pod of rank 0 may announce the board. */
  #performBoard(pod: ReportingPod, { address, key }: MessageOf<'preflightBoard'>): void {
    if (pod.ranks[0] === 0 && isHostAndPort(address)) this.#context.rendezvous.announceBoard(pod, { address, key });
    else this.#dropMalformed(`"${cutText(address, 64)}" is not a valid host:port for the preflight board`);
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
    const { notFinite, ...point } = report;
    const step = { at, jobUid, namespace, jobName, epoch, stepTimeMs, ...point };
    series.append(step);
    health.step(pod, report);
    this.#context.count('step');
    if (progress.recordStep(pod, { ...step, ...(notFinite && { notFinite }) })) ports.onNews(pod, 'progress');
  }

  /** Leaves a gap in the series for steps that were not received. */
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
        this.#refused('staleEpoch', `attempt ${pod.epoch} has failed or been replaced by a later one`);
        return false;
      }
      if (outcome !== 'failed') return true;
      if (delayMs !== undefined) await sleep(delayMs);
    }
    this.#refused('notReady', 'the checkpoint could not be recorded; retry');
    return false;
  }

  #recordContact({ jobUid, epoch }: ReportingPod): void {
    this.#context.recordContact({ jobUid, epoch, podUid: this.#podUid });
  }

  /** The pod of rank 0 announces the rendezvous address of its incarnation. */
  #announceRendezvous(pod: ReportingPod, message: LauncherMessage): void {
    const { rendezvous: address } = message;
    if (address === null || pod.ranks[0] !== 0) return;
    const gang = { ...pod, incarnation: incarnationOf(message) };
    if (isHostAndPort(address)) this.#context.rendezvous.announce(gang, address);
    else this.#dropMalformed(`the rendezvous address "${cutText(address, 64)}" is not host:port`);
  }

  /**
   * Messages that are repeated on each connection, such as saved checkpoints, carry an old state and do not count. The state `reaped` counts only in the
   * message of that kind, which carries the cause.
   */
  #recordState(pod: ReportingPod, message: LauncherMessage): void {
    const { state, incarnation = 0 } = message;
    if (!CARRIES_CURRENT_STATE.includes(message.kind)) return;
    if (state === undefined || (state === 'reaped') !== (message.kind === 'reaped')) return;
    const marks = this.#marks.receive(message, this.#context.now().getTime());
    const reported = JSON.stringify([state, incarnation, marks]);
    if (reported === this.#state && message.kind === 'heartbeat') return;
    this.#state = reported;
    const cause = message.kind === 'reaped' ? message.cause : undefined;
    const memorySaves = message.kind === 'reaped' ? message.memorySaves : undefined;
    const found = {
      ...(cause === undefined ? {} : { cause }),
      ...(marks === undefined ? {} : { marks }),
      ...(memorySaves === undefined ? {} : { memorySaves }),
    };
    const { jobUid, epoch, podIndex } = pod;
    this.#context.recordLauncher({ jobUid, epoch, podIndex, podUid: this.#podUid, incarnation, state, ...found });
  }

  /** Reports of earlier incarnations do not count. A later one than this replica knows was started by the leader. */
  #isOfCurrentRanks(pod: ReportingPod, message: LauncherMessage): boolean {
    return incarnationOf(message) >= this.#context.ports.currentIncarnation(pod.jobUid);
  }

  /**
   * Steps are never sent again, so no launcher waits for their acknowledgement, and thousands per second would cost more than the steps themselves. An
   * occasional one shows the launcher that the connection works.
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
    if (pod.isReplaced === true) {
      this.#refused('staleEpoch', `a standby holds the ranks of this pod of attempt ${pod.epoch}`);
      return false;
    }
    const current = this.#context.ports.currentEpoch(pod.jobUid);
    if (current === pod.epoch && !this.#context.ports.isFenced(pod)) return true;
    if (current === pod.epoch) this.#refused('staleEpoch', `attempt ${pod.epoch} is over`);
    else if (current === undefined) this.#refused('unknownPod', 'the job of this pod does not exist');
    else if (current > pod.epoch) {
      this.#refused('staleEpoch', `attempt ${pod.epoch} has been replaced by attempt ${current}`);
    } else this.#refused('notReady', `the operator has not observed attempt ${pod.epoch} yet`);
    return false;
  }

  #yield(message = 'a newer connection of this pod took its place'): void {
    this.refuse({ code: 'notReady', message });
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
