import type { Clock } from '@coxswain/kube';
import type { IngestAnswer, IngestQuestion, LeadershipView, NewestEpoch, ToIngest } from './ingest-messages.ts';
import type { KeptLogsReply, KeptLogsRequest } from '../kept-logs/kept-logs-readers.ts';
import type { GangRoster } from './health-reports.ts';
import type { ReportingPod, ReportPorts, SavedByRanks } from './session-ports.ts';

/** Open questions to the loop's thread; they delay it by a few milliseconds at most. */
const MAX_OPEN_QUESTIONS = 64;

/**
 * The cluster as seen by the ingest thread: the last view and the answers of the loop's thread. The view may be a fraction of a second old. The loop's
 * thread checks again whatever must not be done twice or too late, such as recording a checkpoint.
 */
export class IngestPorts implements ReportPorts {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #ask: (id: number, question: IngestQuestion) => void;
  readonly #newest = new Map<string, NewestEpoch>();
  readonly #open = new Map<number, (answer: IngestAnswer) => void>();
  readonly #waiting: (() => void)[] = [];
  readonly #ended = new Set<string>();
  #leadership: LeadershipView = { leading: false };
  #leadsUntilMs = 0;
  #asked = 0;

  constructor(parts: {
    readonly clock: Pick<Clock, 'monotonicMs'>;
    readonly ask: (id: number, question: IngestQuestion) => void;
  }) {
    this.#clock = parts.clock;
    this.#ask = parts.ask;
  }

  /** Takes over a view of the loop's thread. */
  receiveView({ leadership, jobs }: Extract<ToIngest, { kind: 'view' }>): void {
    this.#leadership = leadership;
    // If the loop stops, its leadership expires here too.
    if (leadership.leading) this.#leadsUntilMs = this.#clock.monotonicMs() + leadership.leftMs;
    for (const newest of jobs) this.#note(newest);
  }

  /** Drops a job that is finished or deleted. A launcher of it that connects again is looked up again. */
  forget(jobUid: string): void {
    this.#newest.delete(jobUid);
  }

  receiveAnswer({ id, answer }: Extract<ToIngest, { kind: 'answer' }>): void {
    const settle = this.#open.get(id);
    this.#open.delete(id);
    settle?.(answer);
    this.#waiting.shift()?.();
  }

  /** Whether ended ranks wait for the next digest. */
  get hasEnded(): boolean {
    return this.#ended.size > 0;
  }

  /** Jobs whose ranks have ended since the previous call. */
  takeEnded(): readonly string[] {
    const ended = [...this.#ended];
    this.#ended.clear();
    return ended;
  }

  leadership(): ReturnType<ReportPorts['leadership']> {
    const view = this.#leadership;
    if (!view.leading) return view;
    return this.#clock.monotonicMs() < this.#leadsUntilMs ? { leading: true, term: view.term } : { leading: false };
  }

  async findPod(pod: Parameters<ReportPorts['findPod']>[0]): Promise<ReportingPod | 'unknown' | 'unavailable'> {
    const found = await this.#question({ kind: 'findPod', pod });
    if (found.newest !== undefined) this.#note(found.newest);
    return found.pod;
  }

  isKnownPod(pod: Parameters<ReportPorts['findPod']>[0]): Promise<boolean> {
    return this.#question({ kind: 'isKnownPod', pod });
  }

  /** The roster of the job's newest gang. */
  rosterOf(jobUid: string): Promise<GangRoster | undefined> {
    return this.#question({ kind: 'rosterOf', jobUid });
  }

  /** Starts the pod that reads kept logs. */
  openKeptLogs(request: KeptLogsRequest): Promise<KeptLogsReply | undefined> {
    return this.#question({ kind: 'openKeptLogs', request });
  }

  currentEpoch(jobUid: string): number | undefined {
    return this.#newest.get(jobUid)?.epoch;
  }

  currentIncarnation(jobUid: string): number {
    return this.#newest.get(jobUid)?.incarnation ?? 1;
  }

  isFenced({ jobUid, epoch }: { readonly jobUid: string; readonly epoch: number }): boolean {
    const newest = this.#newest.get(jobUid);
    return newest?.epoch === epoch && newest.isFenced;
  }

  async recordCheckpoint(pod: ReportingPod, saved: SavedByRanks): Promise<'recorded' | 'stale' | 'unwanted'> {
    const outcome = await this.#question({ kind: 'recordCheckpoint', pod, saved });
    if (outcome === 'failed') throw new Error('the checkpoint cannot be recorded at the moment');
    return outcome;
  }

  /** Progress is reported by the ProgressTracker, so only ends are kept here. */
  onNews({ jobUid }: ReportingPod, news: 'progress' | 'ended'): void {
    if (news === 'ended') this.#ended.add(jobUid);
  }

  #note(newest: NewestEpoch): void {
    if (newest.epoch === undefined) this.#newest.delete(newest.jobUid);
    else this.#newest.set(newest.jobUid, newest);
  }

  async #question<Question extends IngestQuestion>(question: Question): Promise<IngestAnswer<Question['kind']>> {
    if (this.#open.size >= MAX_OPEN_QUESTIONS) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#asked += 1;
    const id = this.#asked;
    const answer = await new Promise<IngestAnswer>((resolve) => {
      this.#open.set(id, resolve);
      this.#ask(id, question);
    });
    // The loop's thread answers a question with an answer of its kind.
    return answer as IngestAnswer<Question['kind']>;
  }
}
