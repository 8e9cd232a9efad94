/** How many faults would find a standby, for several numbers of standbys? */
import { FAILURES, type FailurePresetName, SHAPES } from '../presets/failures.ts';
import { faultsPerNodeDay } from '../presets/fault-rate.ts';
import { standbysFor, unansweredShare } from '../standbys/erlang-b.ts';
import { answeredShare } from '../standbys/standby-pool.ts';

/** Faults of each simulated pool: the share is then within about half a point. */
const FAULTS = 20_000;

/** A job, and how long it takes to replace a node that it lost. */
export interface StandbyQuestion {
  readonly nodes: number;
  readonly failures: FailurePresetName;
  /** Mean, in hours. */
  readonly refillHours: number;
  readonly seed: number;
}

/** Shares of the faults that find a standby, for one number of standbys. */
export interface StandbyRow {
  readonly standbys: number;
  readonly erlangB: number;
  /** Simulated, with nodes that become standbys when they are back. */
  readonly refilledAtOnce: number;
  /** Simulated, with nodes that become standbys with the next attempt. */
  readonly refilledByAttempts: number;
}

/** Answer to a {@link StandbyQuestion}. */
export interface StandbyTable {
  readonly question: StandbyQuestion;
  readonly source: string;
  readonly faultsPerDay: number;
  /** The fewest with which at most 1 % of the faults find none, by Erlang B. */
  readonly enough: number;
  /** For none, half of enough, enough and twice as many. */
  readonly rows: readonly StandbyRow[];
}

/** How many faults find a standby. Faults that strike software alone are counted too, as the published rate has them. */
export function standbyTable(question: StandbyQuestion): StandbyTable {
  const { nodes, refillHours, seed } = question;
  const preset = FAILURES[question.failures];
  const demand = { nodes, refillHours, faultsPerNodeDay: faultsPerNodeDay(preset) };
  const enough = standbysFor(demand);
  const counts = [...new Set([0, Math.ceil(enough / 2), enough, 2 * enough])];
  const pool = { ...demand, refillSigma: SHAPES.sigma.repair, faults: FAULTS, seed };
  return {
    question,
    source: preset.source,
    faultsPerDay: nodes * demand.faultsPerNodeDay,
    enough,
    rows: counts.map((standbys) => ({
      standbys,
      erlangB: 1 - unansweredShare(standbys, demand),
      refilledAtOnce: answeredShare({ ...pool, standbys, refills: 'AtOnce' }),
      refilledByAttempts: answeredShare({ ...pool, standbys, refills: 'NextAttempt' }),
    })),
  };
}
