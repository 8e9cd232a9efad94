// A little over 400 lines: one ingest thread with all that it watches of a gang.
/** Do the ranks of reporting gangs make progress, and which rank holds the others up? Runs in the ingest thread as reports arrive. */
import type { BrokenSave, LauncherMessage, ProcessGroup, StepReport } from '@coxswain/api-types';
import {
  GangStanding,
  type Grounds,
  HEALTH_SETTINGS,
  placeOfRank,
  type TraceHeader,
  type TraceRecord,
  type Verdict,
  watchHealth,
} from '@coxswain/health';
import { worldSize } from '@coxswain/layout';
import type { GangRoster, HealthReport, RunEvidence, RunOfRanks, StandingReport } from './health-reports.ts';
import { brokenSaveVerdict, newBrokenSaves } from './broken-saves.ts';
import { lastOperations } from './last-operations.ts';
import { isLater } from './progress-tracker.ts';
import { TelemetryBudget } from './telemetry-budget.ts';
import { TenantTurns } from './tenant-turns.ts';
import { type TelemetryLoss, telemetryLossVerdict } from './telemetry-loss.ts';
import { NO_STACKS, type StackFindings } from './stack-findings.ts';
import { newWatched, noteStep, type StandingOf, type Watched } from './watched-run.ts';

/** Of a group that is declared, beside what detectors keep of it. */
const NAME_BYTES = 48;
/** How often launchers report ranks without news. */
const REPORT_EVERY_MS = 10_000;
/** Delay before an unknown roster is requested again. */
const ROSTER_RETRY_MS = 5_000;
/** Verdicts for which stack traces of the ranks are collected. */
const STALL_KINDS: readonly Verdict['kind'][] = ['hang', 'networkHang', 'desync', 'notTraining'];

/** Why detectors ended early, and how often since the previous call. */
export type LossCounts = Partial<Record<TelemetryLoss['bound'], number>>;

/** Collects stack traces of a run, those of the given ranks first. Takes a few seconds at most and must not reject. */
export type StacksOfRun = (run: RunOfRanks, ranks: readonly number[]) => Promise<StackFindings>;

/** Records what detectors received. */
interface Records {
  readonly begin: (run: RunOfRanks, header: TraceHeader, namespace: string) => void;
  readonly add: (jobUid: string, record: TraceRecord) => void;
  readonly end: (jobUid: string) => void;
}

type Heartbeat = Extract<LauncherMessage, { kind: 'heartbeat' }>;

/**
 * One set of detectors for each run that reports. A new leader starts without history, so its time limits start again, except for wait times that ranks
 * report themselves. Reports of a job affect that job alone: its detectors end if they fail, or if they hold more memory than the job's share.
 */
export class HealthWatch {
  readonly #now: () => number;
  readonly #roster: (jobUid: string) => Promise<GangRoster | undefined>;
  readonly #watched = new Map<string, Watched>();
  readonly #records: Records | undefined;
  readonly #windowMs: number;
  readonly #stacks: StacksOfRun | undefined;
  readonly #budget: TelemetryBudget;
  readonly #turns: TenantTurns;
  readonly #idleMs: number;
  readonly #standingOf: StandingOf;
  #reports: HealthReport[] = [];
  /** By job: only where it stands now is of use. */
  #standings = new Map<string, StandingReport>();
  #losses: LossCounts = {};

  constructor(parts: {
    /** Milliseconds of a monotonic clock. */
    readonly monotonicMs: () => number;
    /** Roster of the job's newest attempt; undefined if unknown. Must not reject. */
    readonly rosterOf: (jobUid: string) => Promise<GangRoster | undefined>;
    /** Window of detectors that compare ranks. Default: that of the settings. */
    readonly windowMs?: number;
    /** Time without any sign of work after which a gang is an incident. Default: that of the settings. */
    readonly idleMs?: number;
    readonly records?: Records;
    /** Absent: no stack traces are collected. */
    readonly stacks?: StacksOfRun;
    /** Bounds of what all jobs hold. */
    readonly budget?: TelemetryBudget;
    /** Measures the time that detectors use, in milliseconds. */
    readonly cpuMs?: () => number;
    /** Default: {@link GangStanding}. */
    readonly standingOf?: StandingOf;
  }) {
    this.#standingOf = parts.standingOf ?? ((...made) => new GangStanding(...made));
    this.#turns = new TenantTurns({ nowMs: parts.monotonicMs, cpuMs: parts.cpuMs ?? (() => performance.now()) });
    this.#budget = parts.budget ?? new TelemetryBudget();
    this.#stacks = parts.stacks;
    this.#records = parts.records;
    this.#windowMs = parts.windowMs ?? HEALTH_SETTINGS.slow.windowMs;
    this.#idleMs = parts.idleMs ?? HEALTH_SETTINGS.standing.idleMs;
    this.#now = parts.monotonicMs;
    this.#roster = parts.rosterOf;
  }

  /** Receives a heartbeat. Ranks with watermarks count as reporting when they send one, other ranks while their process lives. */
  heartbeat(
    run: RunOfRanks,
    {
      ranks,
      watermarks = [],
      processGroups = [],
      processes = [],
      brokenSaves = [],
    }: Omit<Partial<Heartbeat>, 'ranks'> & Pick<Heartbeat, 'ranks'>,
  ): void {
    const watched = this.#watchedOf(run);
    for (const { step } of [...ranks, ...watermarks]) noteStep(watched, step);
    if (watched !== undefined) this.#noteBrokenSaves(watched, brokenSaves);
    if (watched?.judge === undefined) return;
    this.#turns.charge(watched.jobUid, () => {
      for (const group of processGroups) this.#declareGroup(watched, group);
    });
    const atMs = this.#now();
    this.#note(watched, (standing) => standing.heartbeat(atMs, { ranks, watermarks, processes }));
    for (const mark of watermarks) {
      watched.speaking.add(mark.rank);
      watched.marks.set(mark.rank, mark);
      watched.markedAtMs.set(mark.rank, atMs);
    }
    const others = ranks.filter(({ rank, alive }) => alive && !watched.speaking.has(rank));
    watched.pending.mark(watermarks);
    watched.pending.hear(others);
    this.#takeTurn(watched);
  }

  /** They need no detector, so they are reported of a run without detectors too. */
  #noteBrokenSaves(watched: Watched, reported: readonly BrokenSave[]): void {
    const { jobUid, epoch, incarnation } = watched;
    for (const broken of newBrokenSaves(watched, reported))
      this.#report(watched, { jobUid, epoch, incarnation, verdict: brokenSaveVerdict(broken, this.#now()) });
  }

  step(run: RunOfRanks, { step, notFinite, ranks, ...reported }: StepReport): void {
    const watched = this.#watchedOf(run);
    noteStep(watched, step);
    if (watched === undefined) return;
    this.#note(watched, (standing) => standing.step(this.#now(), step, ranks));
    if (watched.judge === undefined) return;
    const loss = notFinite?.loss ?? reported.loss;
    const gradNorm = notFinite?.gradNorm ?? reported.gradNorm;
    watched.pending.step({ kind: 'step', atMs: this.#now(), step, loss, gradNorm, ranks });
    this.#takeTurn(watched);
  }

  /** These ranks exited with 0, and their launcher ends. */
  finished(run: RunOfRanks, ranks: readonly number[]): void {
    const watched = this.#watchedOf(run);
    if (watched !== undefined) this.#note(watched, (standing) => standing.finished(this.#now(), ranks));
  }

  /** Advances time without a report. */
  tick(): void {
    for (const run of this.#watched.values()) {
      if (run.judge === undefined) continue;
      run.pending.tick();
      run.isStandingDue = true;
      this.#takeTurn(run);
    }
  }

  /** Gives detectors that wait for time of the thread their turns. Called several times a second. */
  serve(): void {
    this.#turns.serve((jobUid) => this.#judgePending(this.#watched.get(jobUid)));
  }

  /** Where runs stand that do not train, as far as it changed since the previous call. */
  takeStandings(): readonly StandingReport[] {
    const standings = [...this.#standings.values()];
    this.#standings.clear();
    return standings;
  }

  /** Reports since the previous call. */
  takeReports(): readonly HealthReport[] {
    const reports = this.#reports;
    this.#reports = [];
    return reports;
  }

  /** Where the newest run of the job is now: its newest step, and these ranks. undefined: this thread does not know it, or it has no detectors yet. */
  evidenceOf(jobUid: string, ranks: readonly number[]): RunEvidence | undefined {
    const watched = this.#watched.get(jobUid);
    if (watched === undefined) return undefined;
    const { epoch, incarnation, newestStep, marks, markedAtMs, judge } = watched;
    if (watched.isLost) return { jobUid, epoch, incarnation, step: newestStep, ranks: [], slowRanks: [], isLost: true };
    if (judge === undefined) return undefined;
    const nowMs = this.#now();
    const places = ranks.map((rank) => {
      const heardAtMs = markedAtMs.get(rank);
      const heard = heardAtMs === undefined ? {} : { heardAgoMs: nowMs - heardAtMs };
      return { ...placeOfRank(rank, marks.get(rank)), ...heard };
    });
    return { jobUid, epoch, incarnation, step: newestStep, ranks: places, slowRanks: judge.slowRanks() };
  }

  get hasReports(): boolean {
    return this.#reports.length > 0 || this.#standings.size > 0;
  }

  /** How often detectors ended early since the previous call. */
  takeLosses(): LossCounts {
    const losses = this.#losses;
    this.#losses = {};
    return losses;
  }

  /** Jobs with state; for tests of memory. */
  get size(): number {
    return this.#watched.size;
  }

  /** Drops the state of an attempt that is over. Reports that wait for stack traces are still reported. */
  end(jobUid: string, epoch: number): void {
    const watched = this.#watched.get(jobUid);
    if (watched === undefined || watched.epoch > epoch) return;
    this.#release(watched);
    watched.isOver = true;
    if (watched.held === undefined) this.#watched.delete(jobUid);
  }

  /** Drops the state of a deleted job. */
  forget(jobUid: string): void {
    this.#watched.delete(jobUid);
    this.#standings.delete(jobUid);
    this.#budget.close(jobUid);
    this.#turns.close(jobUid);
    this.#records?.end(jobUid);
  }

  #watchedOf(run: RunOfRanks): Watched | undefined {
    const known = this.#watched.get(run.jobUid);
    if (known !== undefined && isLater(known, run)) return undefined;
    const watched = known !== undefined && !isLater(run, known) ? known : this.#startWatching(run);
    const hasNone = watched.judge === undefined && !watched.isLost && !watched.isOver;
    if (hasNone && this.#now() - watched.rosterRequestedAtMs >= ROSTER_RETRY_MS) void this.#requestRoster(watched);
    return watched;
  }

  #startWatching(run: RunOfRanks): Watched {
    const { jobUid } = run;
    const watched = newWatched(run);
    // An earlier run of the job holds nothing any more.
    this.#budget.close(jobUid);
    this.#turns.close(jobUid);
    this.#watched.set(jobUid, watched);
    return watched;
  }

  async #requestRoster(watched: Watched): Promise<void> {
    watched.rosterRequestedAtMs = this.#now();
    const roster = await this.#roster(watched.jobUid);
    const isCurrent = this.#watched.get(watched.jobUid) === watched && !watched.isOver;
    if (roster?.epoch !== watched.epoch || watched.judge !== undefined || !isCurrent) return;
    const { namespace, layout, nodes } = roster;
    const header: TraceHeader = {
      kind: 'header',
      version: 1,
      layout,
      nodes: [...nodes],
      reportEveryMs: REPORT_EVERY_MS,
    };
    const slow = { ...HEALTH_SETTINGS.slow, windowMs: this.#windowMs };
    try {
      watched.judge = watchHealth(header, { ...HEALTH_SETTINGS, slow });
      watched.standing = this.#standingOf(header, { standing: { ...HEALTH_SETTINGS.standing, idleMs: this.#idleMs } });
    } catch (error) {
      return this.#lose(watched, { bound: 'failed', error });
    }
    const drop = (loss: TelemetryLoss): void => this.#lose(watched, loss);
    this.#budget.open(watched.jobUid, { namespace, ranks: worldSize(layout), drop });
    this.#turns.open(watched.jobUid, namespace);
    this.#records?.begin(watched, header, namespace);
    // A thread that ended may have reported another standing of this run.
    this.#clearStanding(watched);
    this.#count(watched);
  }

  #declareGroup(watched: Watched, group: ProcessGroup): void {
    if (watched.judge === undefined || watched.groups.has(group.group)) return;
    watched.groups.add(group.group);
    this.#observe(watched, { kind: 'group', ...group });
  }

  #takeTurn(watched: Watched): void {
    this.#turns.take(watched.jobUid, () => this.#judgePending(watched));
    this.#count(watched);
  }

  #judgePending(watched: Watched | undefined): void {
    if (watched === undefined) return;
    for (const record of watched.pending.take(watched.marks, this.#now())) this.#observe(watched, record);
    this.#checkStanding(watched);
    this.#count(watched);
  }

  #observe(watched: Watched, record: TraceRecord): void {
    const { jobUid, epoch, incarnation, budget, marks } = watched;
    for (const found of this.#judge(watched, record)) {
      const verdict = this.#follow(watched, (standing) => standing.explain(found)) ?? found;
      if (!budget.admits(verdict, this.#now())) continue;
      const operations = lastOperations(verdict, marks);
      const grounds = this.#groundsOf(watched, verdict);
      const report = { jobUid, epoch, incarnation, verdict, operations };
      this.#report(watched, grounds === undefined ? report : { ...report, grounds });
    }
  }

  /** Part of a turn: it visits each rank of a gang that does not train. */
  #checkStanding(watched: Watched): void {
    if (!watched.isStandingDue) return;
    watched.isStandingDue = false;
    const { jobUid, epoch, incarnation } = watched;
    const { standing, verdict } = this.#follow(watched, (one) => one.check(this.#now())) ?? {};
    if (standing !== undefined) this.#standings.set(jobUid, { jobUid, epoch, incarnation, standing });
    if (verdict !== undefined && watched.budget.admits(verdict, this.#now()))
      this.#report(watched, { jobUid, epoch, incarnation, verdict });
  }

  #clearStanding({ jobUid, epoch, incarnation }: RunOfRanks): void {
    this.#standings.set(jobUid, { jobUid, epoch, incarnation, standing: null });
  }

  /** An error in the detectors of a run ends those, and not the thread that serves all jobs. */
  #judge(watched: Watched, record: TraceRecord): readonly Verdict[] {
    if (watched.judge === undefined) return [];
    this.#records?.add(watched.jobUid, record);
    try {
      return watched.judge.observe(record);
    } catch (error) {
      this.#lose(watched, { bound: 'failed', error });
      return [];
    }
  }

  /** Reports cannot wait, because a later one says nothing about them. Their time is charged to the namespace of the job. */
  #note(watched: Watched, use: (standing: GangStanding) => void): void {
    this.#turns.charge(watched.jobUid, () => this.#follow(watched, use));
  }

  #follow<T>(watched: Watched, use: (standing: GangStanding) => T): T | undefined {
    if (watched.standing === undefined) return undefined;
    try {
      return use(watched.standing);
    } catch (error) {
      this.#lose(watched, { bound: 'failed', error });
      return undefined;
    }
  }

  #count({ jobUid, judge, standing, groups, pending }: Watched): void {
    if (judge === undefined) return;
    this.#budget.set(jobUid, judge.bytes() + (standing?.bytes ?? 0) + NAME_BYTES * groups.size + pending.bytes);
  }

  /** Ends the detectors of a run for good, and reports why. */
  #lose(watched: Watched, loss: TelemetryLoss): void {
    const { jobUid, epoch, incarnation } = watched;
    this.#release(watched);
    // Nothing follows the run any more, so what it did last says nothing about now.
    this.#clearStanding(watched);
    watched.isLost = true;
    this.#losses[loss.bound] = (this.#losses[loss.bound] ?? 0) + 1;
    this.#reports.push({ jobUid, epoch, incarnation, verdict: telemetryLossVerdict(loss, this.#now()) });
  }

  #release(watched: Watched): void {
    watched.judge = undefined;
    watched.pending.clear();
    watched.standing = undefined;
    watched.groups.clear();
    watched.speaking.clear();
    watched.marks.clear();
    watched.markedAtMs.clear();
    this.#budget.close(watched.jobUid);
    this.#turns.close(watched.jobUid);
    this.#records?.end(watched.jobUid);
  }

  #groundsOf({ marks, newestStep }: Watched, { action, ranks }: Verdict): Grounds | undefined {
    if (action !== 'evict' && action !== 'stop') return undefined;
    const places = ranks.map((rank) => placeOfRank(rank, marks.get(rank)));
    return { step: newestStep, ranks: places, judgedAtMs: this.#now() };
  }

  /** At the first stall of a run, stack traces are collected. Later reports of the run are held back meanwhile, to keep their order. */
  #report(watched: Watched, report: HealthReport): void {
    if (watched.held !== undefined) watched.held.push(report);
    else if (this.#stacks === undefined || watched.hasStacks || !STALL_KINDS.includes(report.verdict.kind))
      this.#reports.push(report);
    else void this.#reportWithStacks(watched, report, this.#stacks);
  }

  async #reportWithStacks(watched: Watched, report: HealthReport, stacks: StacksOfRun): Promise<void> {
    const held: HealthReport[] = [];
    watched.held = held;
    watched.hasStacks = true;
    const { evidence: reported, odd } = await stacks(watched, report.verdict.ranks).catch(() => NO_STACKS);
    watched.held = undefined;
    // The job was deleted or its ranks were restarted meanwhile.
    if (this.#watched.get(watched.jobUid) !== watched) return;
    const verdict = watched.standing?.nameOdd(report.verdict, odd) ?? report.verdict;
    const evidence = { ...verdict.evidence, ...reported };
    this.#reports.push({ ...report, verdict: { ...verdict, evidence } }, ...held);
    if (watched.isOver) this.#watched.delete(watched.jobUid);
  }
}
