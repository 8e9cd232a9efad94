/** What does a gang do while it completes no step, and which rank stands out? */
import type { RankProcess, RankWatermark } from '@coxswain/api-types';
import { type Gang, gangOf } from '../gang/gang.ts';
import { HEALTH_SETTINGS, type HealthSettings } from '../settings.ts';
import type { TraceHeader } from '../trace/records.ts';
import { type Verdict, type VerdictDraft, verdictOf } from '../verdict/verdict.ts';
import {
  formatBusy,
  formatBeforeFirstStep,
  formatFinished,
  formatIdle,
  formatStopped,
  type StandingRank,
} from './format-standing.ts';
import type { Outliers } from '../verdict/outliers.ts';
import { standsOut } from './stands-out.ts';

/** Why a gang that runs does not train; the reasons of condition Running. */
export type StandingReason = 'RanksFinished' | 'ProcessesStopped' | 'NotTraining' | 'RanksBusy' | 'BeforeFirstStep';

/** Where a gang stands that does not train. */
export interface Standing {
  readonly reason: StandingReason;
  /** Without times, so that it changes only if the facts do. */
  readonly message: string;
  /** No rank has completed a step, and a step or CPU time would have been observed. */
  readonly isStarting: boolean;
}

/** The news of one check. `standing` null: the gang trains; absent: as before. */
export interface StandingNews {
  readonly standing?: Standing | null;
  readonly verdict?: Verdict;
}

interface Known extends Omit<StandingRank, 'rank'> {
  readonly cpuAtMs?: number;
  readonly stateSinceMs?: number;
}

/** A sample of a process that is older says nothing about now. */
const FRESH_MS = 60_000;

/** Another sentence about the same reason is news after this time. */
const SAME_REASON_MS = 30_000;

/** Steps reach the operator this much later at most, from launchers that gather them. */
const LATE_REPORTS_MS = 30_000;

/** Follows one run of the ranks of a gang. Reads no clock. */
export class GangStanding {
  readonly #gang: Gang;
  readonly #settings: HealthSettings['standing'];
  readonly #ranks = new Map<number, Known>();
  #beganAtMs: number | undefined;
  #activeAtMs = -1;
  #steppedAtMs = -1;
  /** When the newest rank finished; -1: none has. */
  #finishedAtMs = -1;
  /** A step came long after a rank had finished. */
  #goesOn = false;
  #idleReported = -1;
  /** Ranks with another stack than most, collected while the gang was idle since that time. */
  #odd: { readonly sinceMs: number; readonly outliers: Outliers } | undefined;
  #last: Standing | undefined;
  #newsAtMs = -Infinity;

  constructor(header: TraceHeader, settings: Pick<HealthSettings, 'standing'> = HEALTH_SETTINGS) {
    this.#gang = gangOf(header);
    this.#settings = settings.standing;
  }

  /** Takes a heartbeat into account. Launchers of earlier releases report no processes. */
  heartbeat(
    atMs: number,
    {
      ranks,
      watermarks = [],
      processes = [],
    }: {
      readonly ranks: readonly { readonly rank: number; readonly step: number | null }[];
      readonly watermarks?: readonly RankWatermark[] | undefined;
      readonly processes?: readonly RankProcess[] | undefined;
    },
  ): void {
    this.#begin(atMs);
    for (const { rank, step } of [...ranks, ...watermarks]) if (step !== null) this.#recordStep(rank, step, atMs);
    for (const mark of watermarks) this.#recordMark(mark, atMs);
    for (const process of processes) this.#recordProcess(process, atMs);
  }

  step(atMs: number, step: number, ranks: readonly { readonly rank: number }[]): void {
    this.#begin(atMs);
    for (const { rank } of ranks) this.#recordStep(rank, step, atMs);
  }

  /** These ranks exited with 0. */
  finished(atMs: number, ranks: readonly number[]): void {
    this.#begin(atMs);
    for (const rank of ranks) {
      if (this.#ranks.get(rank)?.finishedAtMs !== undefined) continue;
      this.#change(rank, { finishedAtMs: atMs });
      this.#finishedAtMs = atMs;
      this.#activeAtMs = atMs;
    }
  }

  /** Where the gang stands now. Call it every second or so. */
  check(nowMs: number): StandingNews {
    if (this.#beganAtMs === undefined || this.#trains(nowMs)) return {};
    const idle = this.#idleVerdict(nowMs);
    const standing = this.#standing(nowMs, idle);
    const isNews = this.#isNews(standing, nowMs);
    if (isNews) this.#last = standing;
    const isReported = idle === undefined || this.#idleReported === this.#activeAtMs;
    if (idle !== undefined) this.#idleReported = this.#activeAtMs;
    return { ...(isNews ? { standing: standing ?? null } : {}), ...(isReported ? {} : { verdict: idle }) };
  }

  /** Another reason at once. Ranks join or finish one after the other, and each sentence is a write of the job's status. */
  #isNews(standing: Standing | undefined, nowMs: number): boolean {
    const last = this.#last;
    const isOther = standing?.reason !== last?.reason || standing?.isStarting !== last?.isStarting;
    const isDue = nowMs - this.#newsAtMs >= SAME_REASON_MS;
    if (!isOther && !(isDue && standing?.message !== last?.message)) return false;
    this.#newsAtMs = nowMs;
    return true;
  }

  /** The verdict about a wait, if ranks that finished or are stopped explain it; otherwise the same verdict. */
  explain(verdict: Verdict): Verdict {
    if (!WAITS.includes(verdict.kind)) return verdict;
    const finished = this.#goesOn ? [] : this.#all().filter(isFinished);
    const stopped = this.#all().filter(({ state }) => state === 'stopped');
    const [cause, culprits] =
      finished.length > 0 ? (['finishedEarly', finished] as const) : (['stopped', stopped] as const);
    if (culprits.length === 0 || culprits.length === this.#gang.ranks) return verdict;
    const message = cause === 'stopped' ? formatStopped(culprits, this.#gang) : formatFinished(culprits, this.#about());
    const { node: _, nodeCount: __, ...rest } = verdict;
    const draft = { ...rest, ranks: culprits.map(({ rank }) => rank), evidence: { ...rest.evidence, cause } };
    const explained = verdictOf({ ...draft, kind: 'hang', message, falseAlarmsPerDay: 0 }, this.#gang.nodeOf);
    // The program ended its rank: no node is at fault. Without reported waits nothing ends the gang, as before.
    const isReported = verdict.evidence['waitedForMs'] !== undefined;
    const isStop = cause === 'finishedEarly' && verdict.action === 'evict' && isReported;
    return { ...explained, falseAlarmsPerDay: verdict.falseAlarmsPerDay, action: isStop ? 'stop' : verdict.action };
  }

  /**
   * The verdict about an idle gang with the ranks whose stacks differ, if nothing else names any. The standing names them as long as the gang stays idle. If it
   * was active since the verdict, the stacks show nothing about the wait.
   */
  nameOdd(verdict: Verdict, outliers: Outliers | undefined): Verdict {
    if (verdict.kind !== 'notTraining' || verdict.ranks.length > 0 || outliers === undefined) return verdict;
    if (this.#idleReported !== this.#activeAtMs) return verdict;
    this.#odd = { sinceMs: this.#activeAtMs, outliers };
    return verdictOf({ ...this.#idleDraft(verdict.atMs), evidence: verdict.evidence }, this.#gang.nodeOf);
  }

  /** Memory, estimated. */
  get bytes(): number {
    return 256 * this.#ranks.size;
  }

  #begin(atMs: number): void {
    if (this.#beganAtMs !== undefined) return;
    this.#beganAtMs = atMs;
    this.#activeAtMs = atMs;
  }

  #recordStep(rank: number, step: number, atMs: number): void {
    if (step <= (this.#ranks.get(rank)?.step ?? -1)) return;
    this.#change(rank, { step });
    this.#activeAtMs = atMs;
    this.#steppedAtMs = atMs;
    // Reports of steps before the end of the rank may come later.
    if (this.#finishedAtMs >= 0 && atMs - this.#finishedAtMs >= LATE_REPORTS_MS) this.#goesOn = true;
  }

  #recordMark({ rank, phase, groups }: RankWatermark, atMs: number): void {
    const completed = groups.reduce((sum, group) => sum + group.completed, 0);
    const before = this.#ranks.get(rank);
    const isWaiting = groups.some((group) => group.completed < group.enqueued);
    if (before?.phase !== phase || before.completed !== completed) this.#activeAtMs = atMs;
    this.#change(rank, { phase, completed, isWaiting });
  }

  #recordProcess({ rank, state, cpuMs, quietMs, program }: RankProcess, atMs: number): void {
    if (state === 'finished') return this.finished(atMs, [rank]);
    const before = this.#ranks.get(rank);
    const since = before?.cpuAtMs === undefined ? undefined : atMs - before.cpuAtMs;
    const used = cpuMs - (before?.cpuMs ?? 0);
    if (since === undefined || used > since * this.#settings.idleCpuShare) this.#activeAtMs = atMs;
    if (since !== undefined && quietMs < since) this.#activeAtMs = Math.max(this.#activeAtMs, atMs - quietMs);
    const stateSinceMs = before?.state === state ? (before.stateSinceMs ?? atMs) : atMs;
    this.#change(rank, { state, cpuMs, cpuAtMs: atMs, stateSinceMs, ...(program === undefined ? {} : { program }) });
  }

  #change(rank: number, changes: Partial<Known>): void {
    this.#ranks.set(rank, { ...this.#ranks.get(rank), ...changes });
  }

  #all(): readonly (Known & { readonly rank: number })[] {
    return [...this.#ranks].map(([rank, known]) => ({ rank, ...known }));
  }

  /** Whether a step came a moment ago, and nothing else was reported: almost every gang, and a gang may have thousands of ranks. */
  #trains(nowMs: number): boolean {
    const isRecent = this.#steppedAtMs >= 0 && nowMs - this.#steppedAtMs < this.#settings.stoppedMs;
    return isRecent && this.#finishedAtMs < 0 && this.#last === undefined;
  }

  #about(): { readonly ranks: number; readonly goesOn: boolean } {
    return { ranks: this.#gang.ranks, goesOn: this.#goesOn };
  }

  /** Idle: for the bound no step, no collective, no CPU time and no output, of any rank; every rank that runs has reported its processes. */
  #idleVerdict(nowMs: number): Verdict | undefined {
    const stoodMs = nowMs - this.#activeAtMs;
    if (stoodMs < this.#settings.idleMs || !this.#areObserved(nowMs)) return undefined;
    return verdictOf(this.#idleDraft(nowMs), this.#gang.nodeOf);
  }

  #idleDraft(nowMs: number): VerdictDraft {
    const all = this.#all();
    const { ranks, why } = this.#outliers(all);
    const stoodMs = nowMs - this.#activeAtMs;
    const step = Math.max(-1, ...all.map((one) => one.step ?? -1));
    return {
      kind: 'notTraining',
      atMs: nowMs,
      ranks,
      message: formatIdle({ why, step, boundMs: this.#settings.idleMs }),
      evidence: { cause: 'idle', stoodMs: Math.round(stoodMs), ...(step < 0 ? {} : { newestStep: step }) },
      confidence: 0.5,
      action: 'advise',
    };
  }

  #outliers(all: readonly StandingRank[]): Outliers {
    const found = standsOut(all, this.#gang);
    return found.ranks.length === 0 && this.#odd?.sinceMs === this.#activeAtMs ? this.#odd.outliers : found;
  }

  #areObserved(nowMs: number): boolean {
    const all = this.#all();
    const isObserved = (one: Known): boolean => isFinished(one) || nowMs - (one.cpuAtMs ?? -Infinity) <= FRESH_MS;
    return all.length === this.#gang.ranks && all.every(isObserved) && !all.every(isFinished);
  }

  #standing(nowMs: number, idle: Verdict | undefined): Standing | undefined {
    const all = this.#all();
    const { finishedMs, stoppedMs, waitingMs, beforeStepMs } = this.#settings;
    const isStarting = this.#steppedAtMs < 0;
    const finished = all.filter((one) => isFinished(one) && nowMs - (one.finishedAtMs ?? nowMs) >= finishedMs);
    if (finished.length > 0 && finished.length < this.#gang.ranks) {
      return { reason: 'RanksFinished', message: formatFinished(finished, this.#about()), isStarting: false };
    }
    const sinceStepMs = nowMs - Math.max(this.#steppedAtMs, this.#beganAtMs ?? nowMs);
    const isHeld = ({ state, stateSinceMs = nowMs }: Known): boolean => {
      const forMs = nowMs - stateSinceMs;
      return (state === 'stopped' && forMs >= stoppedMs) || (state === 'waiting' && forMs >= waitingMs);
    };
    const held = all.filter((one) => isHeld(one) && sinceStepMs >= stoppedMs);
    if (held.length > 0) return { reason: 'ProcessesStopped', message: formatStopped(held, this.#gang), isStarting };
    if (idle !== undefined) return { reason: 'NotTraining', message: idle.message, isStarting };
    if (sinceStepMs < beforeStepMs) return undefined;
    const busy = formatBusy(all);
    if (busy !== undefined) return { reason: 'RanksBusy', message: busy, isStarting: false };
    if (!isStarting) return undefined;
    const isQuiet = this.#areObserved(nowMs) && nowMs - this.#activeAtMs >= beforeStepMs;
    const isSeen = isQuiet || all.some(({ phase }) => phase !== undefined);
    const message = formatBeforeFirstStep(all, {
      ranks: this.#gang.ranks,
      isQuiet,
      why: standsOut(all, this.#gang).why,
    });
    return { reason: 'BeforeFirstStep', message, isStarting: isSeen };
  }
}

const WAITS: readonly Verdict['kind'][] = ['hang', 'networkHang', 'desync'];

function isFinished({ finishedAtMs }: Pick<Known, 'finishedAtMs'>): boolean {
  return finishedAtMs !== undefined;
}
