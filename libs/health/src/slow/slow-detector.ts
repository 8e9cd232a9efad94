/** Why are steps slow: a rank, a link, data, or how the work is divided? */
import type { Gang } from '../gang/gang.ts';
import type { HealthSettings } from '../settings.ts';
import type { TraceRecord } from '../trace/records.ts';
import { windowedFalseAlarmsPerDay } from '../verdict/false-alarms.ts';
import type { Verdict, VerdictDraft } from '../verdict/verdict.ts';
import { verdictOf } from '../verdict/verdict.ts';
import { cohortsOf } from './cohorts.ts';
import { computeFindings } from './compute-window.ts';
import { dataWait } from './data-wait.ts';
import { known } from './levels.ts';
import { linkWindow } from './links.ts';
import { longWindow } from './long-window.ts';
import type { Slow } from './outliers.ts';
import { ownHistory } from './own-history.ts';
import { pauseHistory } from './pauses.ts';
import { medianInPlace } from './robust.ts';
import { slowCosts } from './slow-costs.ts';
import { slowJob } from './slow-job.ts';
import { stepWindow, type StepWindow } from './step-window.ts';
import { streakOf } from './streak.ts';
import * as told from './format-slow-verdicts.ts';

export interface SlowDetector {
  readonly observe: (record: Exclude<TraceRecord, { kind: 'group' }>) => readonly Verdict[];
}

export function slowDetector(gang: Gang, settings: HealthSettings): SlowDetector {
  const { slow } = settings;
  const cohorts = cohortsOf(gang);
  const window = stepWindow(gang.ranks);
  const links = linkWindow(gang, settings);
  const pauses = pauseHistory(gang.ranks, settings);
  const history = ownHistory(cohorts, settings);
  const long = longWindow(cohorts, settings, gang.nodeOf);
  const costs = slowCosts(slow);
  const wholeJob = slowJob(settings);
  const slowRanks = streakOf<number>(slow);
  const slowGroups = streakOf<string>(slow);
  const dataRanks = streakOf<number>(slow);
  const layouts = streakOf<VerdictDraft['kind']>(slow);
  let beganAtMs: number | undefined;
  let pausesTold = false;
  /** Parts are told of one step in many. */
  let isSampled = false;

  /** Where few steps are told in parts a window lasts until there are enough, and no longer than several. */
  const isOver = (atMs: number): boolean => {
    const lastedMs = atMs - (beganAtMs ?? atMs);
    if (lastedMs < slow.windowMs) return false;
    if (window.steps() >= slow.leastSteps) return true;
    return lastedMs >= slow.windows * slow.windowMs && window.allSteps() >= slow.leastSteps;
  };
  const close = (atMs: number): VerdictDraft[] => {
    const found = computeFindings(window, cohorts, settings, gang.nodeOf);
    const slowNow = [...found.slow, ...history.compare(found.levels, gang.nodeOf)];
    const slowFor = new Map([...long.take(found), ...slowNow].map((one) => [one.rank, one]));
    const byWindows = slowRanks.close(slowNow.map(({ rank }) => rank));
    isSampled = window.allSteps() > 2 * window.steps();
    const doubts = {
      waitingIsIn: !window.hasParts(),
      mayBeExpert: found.mayBeExpert,
      mayBeHost: (slow: Slow) => isOfHost(slow, cohorts.peersOf(slow.rank), window),
    };
    const named = long.due(byWindows);
    const costly = costs.close(named, slowFor, atMs - (beganAtMs ?? atMs));
    const { lostMs } = costs;
    const drafts = [
      ...told.slowRanks(named, slowFor, { ...doubts, gang, atMs, lostMs, isDue: false }),
      ...told.slowRanks(costly, slowFor, { ...doubts, gang, atMs, lostMs, isDue: true }),
    ];

    const data = dataWait(window, settings, gang.nodeOf);
    const heldUp = new Set([...slowFor.keys(), ...data.waiting].map(cohorts.dataOf));
    const unlevel = found.unlevel.share >= slow.jobExcess;
    const slowLinks = new Map(
      links.close((rank) => unlevel || heldUp.has(cohorts.dataOf(rank))).map((one) => [one.group, one]),
    );
    drafts.push(...told.slowLinks(slowGroups.close(slowLinks.keys()), slowLinks, gang, atMs));
    drafts.push(...told.dataStalls(dataRanks.close(data.waiting), data, gang, atMs));

    const stands = (rank: number): boolean => slowFor.has(rank);
    // A stage of few ranks is not long because one of them is slow.
    const whole = told
      .wholeJob(found, settings, atMs)
      .filter(
        ({ kind, evidence }) =>
          kind !== 'stageImbalance' || !isMostly(cohorts.stages[Number(evidence['stage'])], stands),
      );
    const due = new Set(layouts.close(whole.map(({ kind }) => kind)));
    drafts.push(...whole.filter(({ kind }) => due.has(kind)));

    const paused = pauses.find();
    if (paused !== undefined && !pausesTold) {
      pausesTold = true;
      drafts.push(told.collectionPauses(paused, gang, atMs));
    }
    pauses.know(found.levels.medianMs, found.spread);
    window.clear();
    const tested = { ...slow, windowMs: Math.max(slow.windowMs, atMs - (beganAtMs ?? atMs)) };
    return drafts.map((draft) => ({
      ...draft,
      falseAlarmsPerDay: windowedFalseAlarmsPerDay(draft.kind === 'slowLink' ? gang.groups.size : gang.ranks, tested),
    }));
  };

  return {
    observe: (record) => {
      const drafts: VerdictDraft[] = [];
      beganAtMs ??= record.atMs;
      if (isOver(record.atMs)) {
        drafts.push(...close(record.atMs));
        beganAtMs = record.atMs;
      }
      if (record.kind === 'step') {
        window.add(record);
        // Of one step in many it cannot be seen at what intervals a rank pauses.
        if (!isSampled) pauses.note(record);
        drafts.push(...wholeJob(record));
      }
      if (record.kind === 'collectives') links.add(record);
      return drafts.map((draft) => verdictOf(draft, gang.nodeOf));
    },
  };
}

/** Whether most of what a rank is slow by was spent with its GPU idle, as the median of its peers is not. */
function isOfHost({ rank, computeMs, usualMs }: Slow, peers: readonly number[], window: StepWindow): boolean {
  const usualHostMs = medianInPlace(known(peers.map(window.hostMs)));
  return 2 * (window.hostMs(rank) - usualHostMs) > computeMs - usualMs;
}

function isMostly(ranks: readonly number[] = [], holds: (rank: number) => boolean): boolean {
  return 2 * ranks.filter(holds).length >= Math.max(1, ranks.length);
}
