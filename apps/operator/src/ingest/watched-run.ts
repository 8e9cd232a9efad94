/** What is kept of one run that reports. */
import type { RankWatermark } from '@coxswain/api-types';
import type { GangStanding, watchHealth } from '@coxswain/health';
import type { HealthReport, RunOfRanks } from './health-reports.ts';
import { PendingReports } from './pending-reports.ts';
import { VerdictBudget } from './verdict-budget.ts';

/** A run, its detectors, and what its ranks said last. */
export interface Watched extends RunOfRanks {
  rosterRequestedAtMs: number;
  judge: ReturnType<typeof watchHealth> | undefined;
  standing: GangStanding | undefined;
  /** A second has passed since it was checked. */
  isStandingDue: boolean;
  /** Its detectors ended before it did; it has none until its next start. */
  isLost: boolean;
  /** Its attempt is over: it is forgotten once reports that are held back were reported. */
  isOver: boolean;
  /** Process groups that were declared. */
  readonly groups: Set<string>;
  /** Ranks that send watermarks; for these, a live process in the launcher's heartbeat is no evidence of progress. */
  readonly speaking: Set<number>;
  /** The newest watermark of each rank, and when it came. */
  readonly marks: Map<number, RankWatermark>;
  readonly markedAtMs: Map<number, number>;
  /** Newest step that any rank reported; -1 before the first. */
  newestStep: number;
  /** Steps whose save was reported as broken. */
  readonly brokenSaves: Set<number>;
  readonly budget: VerdictBudget;
  readonly pending: PendingReports;
  /** Reports held back until stack traces arrive; undefined while none are being collected. */
  held: HealthReport[] | undefined;
  hasStacks: boolean;
}

/** Makes what follows where the ranks of a run stand. */
export type StandingOf = (...made: ConstructorParameters<typeof GangStanding>) => GangStanding;

/** A run that has reported nothing yet. */
export function newWatched({ jobUid, epoch, incarnation }: RunOfRanks): Watched {
  return {
    jobUid,
    epoch,
    incarnation,
    rosterRequestedAtMs: Number.NEGATIVE_INFINITY,
    judge: undefined,
    standing: undefined,
    isStandingDue: false,
    isLost: false,
    isOver: false,
    groups: new Set<string>(),
    speaking: new Set<number>(),
    marks: new Map<number, RankWatermark>(),
    markedAtMs: new Map<number, number>(),
    newestStep: -1,
    brokenSaves: new Set<number>(),
    budget: new VerdictBudget(),
    pending: new PendingReports(),
    held: undefined,
    hasStacks: false,
  };
}

/** Notes a step that a rank reported. */
export function noteStep(watched: Watched | undefined, step: number | null): void {
  if (watched !== undefined && step !== null) watched.newestStep = Math.max(watched.newestStep, step);
}
