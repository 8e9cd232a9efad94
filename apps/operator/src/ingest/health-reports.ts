/** What does the ingest thread report about the health of gangs? */
import type { RankOperation } from '@coxswain/api-types';
import type { Grounds, RunProgress, Standing, Verdict } from '@coxswain/health';
import type { ParallelLayout } from '@coxswain/layout';

/** One start of a gang's ranks. */
export interface RunOfRanks {
  readonly jobUid: string;
  readonly epoch: number;
  readonly incarnation: number;
}

/** Layout of a gang, and which ranks run on which node. */
export interface GangRoster {
  readonly namespace: string;
  readonly epoch: number;
  readonly layout: ParallelLayout;
  readonly nodes: readonly { readonly node: string; readonly ranks: string }[];
}

/** A verdict about a run. */
export interface HealthReport extends RunOfRanks {
  readonly verdict: Verdict;
  /** Last operations of the named ranks and of some ranks that wait for them. */
  readonly operations?: readonly RankOperation[];
  /** What it stands on, if it may end the gang. */
  readonly grounds?: Grounds;
}

/** Where a run stands that does not train; null: it trains again. */
export interface StandingReport extends RunOfRanks {
  readonly standing: Standing | null;
}

/** What verdicts about a run stand on, read again. */
export type RunEvidence = RunOfRanks &
  RunProgress & {
    /** The run's detectors have ended, so nothing of this is known any more. */
    readonly isLost?: true;
  };
