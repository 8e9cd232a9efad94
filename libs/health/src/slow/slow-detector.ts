/** Why are steps slow: a rank, a link, data, or how the work is divided? */
import type { Gang } from '../gang/gang.ts';
import type { HealthSettings } from '../settings.ts';
import type { RecordOf, TraceRecord } from '../trace/records.ts';
import { windowedFalseAlarmsPerDay } from '../verdict/false-alarms.ts';
import type { Verdict, VerdictDraft } from '../verdict/verdict.ts';
import { verdictOf } from '../verdict/verdict.ts';
import { type Cohorts, cohortsOf } from './cohorts.ts';
import { type ComputeFindings, computeFindings } from './compute-window.ts';
import { dataWait, type DataWait } from './data-wait.ts';
import {
  formatCollectionPauses,
  formatDataStalls,
  formatSlowLinks,
  formatSlowRanks,
  formatWholeJob,
} from './format-slow-verdicts.ts';
import { known } from './levels.ts';
import { type LinkWindow, linkWindow } from './links.ts';
import { type LongWindow, longWindow } from './long-window.ts';
import type { Slow } from './outliers.ts';
import { type OwnHistory, ownHistory } from './own-history.ts';
import { type PauseHistory, pauseHistory } from './pauses.ts';
import { medianInPlace } from './robust.ts';
import { type SlowCosts, slowCosts } from './slow-costs.ts';
import { slowJob } from './slow-job.ts';
import { StepWindow } from './step-window.ts';
import { streakOf } from './streak.ts';

/** Finds what makes steps slow, window by window. A new run of the ranks needs a new detector. */
export class SlowDetector {
  readonly #gang: Gang;
  readonly #settings: HealthSettings;
  readonly #cohorts: Cohorts;
  readonly #window: StepWindow;
  readonly #links: LinkWindow;
  readonly #pauses: PauseHistory;
  readonly #history: OwnHistory;
  readonly #long: LongWindow;
  readonly #costs: SlowCosts;
  readonly #judgeWholeJob: (record: RecordOf<'step'>) => readonly VerdictDraft[];
  readonly #streaks;
  #beganAtMs: number | undefined;
  #hasReportedPauses = false;
  /** Whether ranks report parts of fewer than half of their steps. */
  #isSampled = false;

  constructor(gang: Gang, settings: HealthSettings) {
    const { slow } = settings;
    this.#gang = gang;
    this.#settings = settings;
    this.#cohorts = cohortsOf(gang);
    this.#window = new StepWindow(gang.ranks);
    this.#links = linkWindow(gang, settings);
    this.#pauses = pauseHistory(gang.ranks, settings);
    this.#history = ownHistory(this.#cohorts, settings);
    this.#long = longWindow(this.#cohorts, settings, gang.nodeOf);
    this.#costs = slowCosts(slow);
    this.#judgeWholeJob = slowJob(settings);
    this.#streaks = {
      ranks: streakOf<number>(slow),
      groups: streakOf<string>(slow),
      data: streakOf<number>(slow),
      layouts: streakOf<VerdictDraft['kind']>(slow),
    };
  }

  /** Takes one record into account and returns the verdicts that it completes. */
  observe(record: Exclude<TraceRecord, { kind: 'group' }>): readonly Verdict[] {
    const drafts: VerdictDraft[] = [];
    this.#beganAtMs ??= record.atMs;
    if (this.#isOver(record.atMs)) {
      drafts.push(...this.#closeWindow(record.atMs));
      this.#beganAtMs = record.atMs;
    }
    if (record.kind === 'step') drafts.push(...this.#addStep(record));
    if (record.kind === 'collectives') this.#links.add(record);
    return drafts.map((draft) => verdictOf(draft, this.#gang.nodeOf));
  }

  /** Named ranks that are slow in the newest window. */
  slowRanks(): readonly number[] {
    return this.#costs.slowNow();
  }

  #addStep(record: RecordOf<'step'>): readonly VerdictDraft[] {
    this.#window.add(record);
    // Reports of a few steps do not show the intervals at which a rank pauses.
    if (!this.#isSampled) this.#pauses.note(record);
    return this.#judgeWholeJob(record);
  }

  /** If ranks report parts of few steps, a window lasts until there are enough of them, and at most as long as several windows. */
  #isOver(atMs: number): boolean {
    const { slow } = this.#settings;
    const lastedMs = this.#lastedMs(atMs);
    if (lastedMs < slow.windowMs) return false;
    if (this.#window.steps >= slow.leastSteps) return true;
    return lastedMs >= slow.windows * slow.windowMs && this.#window.allSteps >= slow.leastSteps;
  }

  #lastedMs(atMs: number): number {
    return atMs - (this.#beganAtMs ?? atMs);
  }

  #closeWindow(atMs: number): VerdictDraft[] {
    const found = computeFindings(this.#window, this.#cohorts, this.#settings, this.#gang.nodeOf);
    const slowNow = [...found.slow, ...this.#history.compare(found.levels, this.#gang.nodeOf)];
    const slow = new Map([...this.#long.take(found), ...slowNow].map((one) => [one.rank, one]));
    this.#isSampled = this.#window.allSteps > 2 * this.#window.steps;
    const data = dataWait(this.#window, this.#settings, this.#gang.nodeOf);
    const drafts = [
      ...this.#judgeRanks({ found, slowNow, slow, atMs }),
      ...this.#judgeLinks({ found, slow, data, atMs }),
      ...formatDataStalls(this.#streaks.data.close(data.waiting), data, this.#gang, atMs),
      ...this.#judgeLayout({ found, slow, atMs }),
      ...this.#judgePauses(atMs),
    ];
    this.#pauses.know(found.levels.medianMs, found.spread);
    this.#window.clear();
    return this.#withFalseAlarms(drafts, atMs);
  }

  #judgeRanks({
    found,
    slowNow,
    slow,
    atMs,
  }: WindowFindings & { readonly slowNow: readonly Slow[] }): readonly VerdictDraft[] {
    const named = this.#long.due(this.#streaks.ranks.close(slowNow.map(({ rank }) => rank)));
    const costly = this.#costs.close(named, slow, this.#lastedMs(atMs));
    const context = {
      waitingIsIn: !this.#window.hasParts,
      mayBeExpert: found.mayBeExpert,
      mayBeHost: (one: Slow) => isOfHost(one, this.#cohorts.peersOf(one.rank), this.#window),
      gang: this.#gang,
      atMs,
      lostMs: this.#costs.lostMs,
    };
    return [
      ...formatSlowRanks(named, slow, { ...context, isDue: false }),
      ...formatSlowRanks(costly, slow, { ...context, isDue: true }),
    ];
  }

  /** A transfer that waits for a slow rank or for data does not count against the link. */
  #judgeLinks({ found, slow, data, atMs }: WindowFindings & { readonly data: DataWait }): readonly VerdictDraft[] {
    const { dataOf } = this.#cohorts;
    const heldUp = new Set([...slow.keys(), ...data.waiting].map(dataOf));
    const isUnlevel = found.unlevel.share >= this.#settings.slow.jobExcess;
    const groups = this.#links.close((rank) => isUnlevel || heldUp.has(dataOf(rank)));
    const byName = new Map(groups.map((one) => [one.group, one]));
    return formatSlowLinks(this.#streaks.groups.close(byName.keys()), byName, this.#gang, atMs);
  }

  /** A stage of few ranks does not count as long because one of them is slow. */
  #judgeLayout({ found, slow, atMs }: WindowFindings): readonly VerdictDraft[] {
    const isSlow = (rank: number): boolean => slow.has(rank);
    const drafts = formatWholeJob(found, this.#settings, atMs).filter(
      ({ kind, evidence }) =>
        kind !== 'stageImbalance' || !isMostly(this.#cohorts.stages[Number(evidence['stage'])], isSlow),
    );
    const due = new Set(this.#streaks.layouts.close(drafts.map(({ kind }) => kind)));
    return drafts.filter(({ kind }) => due.has(kind));
  }

  #judgePauses(atMs: number): readonly VerdictDraft[] {
    const paused = this.#pauses.find();
    if (paused === undefined || this.#hasReportedPauses) return [];
    this.#hasReportedPauses = true;
    return [formatCollectionPauses(paused, this.#gang, atMs)];
  }

  #withFalseAlarms(drafts: readonly VerdictDraft[], atMs: number): VerdictDraft[] {
    const { slow } = this.#settings;
    const tested = { ...slow, windowMs: Math.max(slow.windowMs, this.#lastedMs(atMs)) };
    const { groups, ranks } = this.#gang;
    return drafts.map((draft) => ({
      ...draft,
      falseAlarmsPerDay: windowedFalseAlarmsPerDay(draft.kind === 'slowLink' ? groups.size : ranks, tested),
    }));
  }
}

/** What a window shows, and when it ended. */
interface WindowFindings {
  readonly found: ComputeFindings;
  /** Ranks that are slow in this window or over a long time. */
  readonly slow: ReadonlyMap<number, Slow>;
  readonly atMs: number;
}

/** Whether most of the excess of a rank was spent with its GPU idle, unlike the median of its peers. */
function isOfHost({ rank, computeMs, usualMs }: Slow, peers: readonly number[], window: StepWindow): boolean {
  const usualHostMs = medianInPlace(known(peers.map((peer) => window.hostMs(peer))));
  return 2 * (window.hostMs(rank) - usualHostMs) > computeMs - usualMs;
}

function isMostly(ranks: readonly number[] = [], holds: (rank: number) => boolean): boolean {
  return 2 * ranks.filter(holds).length >= Math.max(1, ranks.length);
}
