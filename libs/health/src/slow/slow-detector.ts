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
import { linkWindow } from './links.ts';
import { ownHistory } from './own-history.ts';
import { pauseHistory } from './pauses.ts';
import { slowJob } from './slow-job.ts';
import { stepWindow } from './step-window.ts';
import { streakOf } from './streak.ts';
import * as told from './told.ts';

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
  const wholeJob = slowJob(settings);
  const slowRanks = streakOf<number>(slow);
  const slowGroups = streakOf<string>(slow);
  const dataRanks = streakOf<number>(slow);
  const layouts = streakOf<VerdictDraft['kind']>(slow);
  let endsAtMs: number | undefined;
  let pausesTold = false;
  const falseAlarms = (subjects: number): number => windowedFalseAlarmsPerDay(subjects, slow);

  const close = (atMs: number): VerdictDraft[] => {
    const found = computeFindings(window, cohorts, settings);
    const slowNow = [...found.slow, ...history.compare(found.medianMs)];
    const byRank = new Map(slowNow.map((one) => [one.rank, one]));
    const drafts: VerdictDraft[] = told.slowRanks(slowRanks.close(byRank.keys()), byRank, gang, atMs);

    const slowLinks = new Map(links.close().map((one) => [one.group, one]));
    drafts.push(...told.slowLinks(slowGroups.close(slowLinks.keys()), slowLinks, gang, atMs));

    const data = dataWait(window, settings, gang.nodeOf);
    drafts.push(...told.dataStalls(dataRanks.close(data.waiting), data, gang, atMs));

    const whole = told.wholeJob(found, settings, atMs);
    const due = new Set(layouts.close(whole.map(({ kind }) => kind)));
    drafts.push(...whole.filter(({ kind }) => due.has(kind)));

    pauses.take(window, found.medianMs);
    const paused = pauses.find();
    if (paused !== undefined && !pausesTold) {
      pausesTold = true;
      drafts.push(told.collectionPauses(paused, gang, atMs));
    }
    window.clear();
    return drafts.map((draft) => ({
      ...draft,
      falseAlarmsPerDay: falseAlarms(draft.kind === 'slowLink' ? gang.groups.size : gang.ranks),
    }));
  };

  return {
    observe: (record) => {
      const drafts: VerdictDraft[] = [];
      endsAtMs ??= record.atMs + slow.windowMs;
      if (record.atMs >= endsAtMs && window.steps() >= slow.leastSteps) {
        drafts.push(...close(record.atMs));
        endsAtMs = record.atMs + slow.windowMs;
      }
      if (record.kind === 'step') {
        window.add(record);
        drafts.push(...wholeJob(record));
      }
      if (record.kind === 'collectives') links.add(record);
      return drafts.map((draft) => verdictOf(draft, gang.nodeOf));
    },
  };
}
