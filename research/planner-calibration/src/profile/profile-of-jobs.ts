/** Fits one factor for each engine to the jobs that ran on a cluster. */
import type { ClusterProfile } from '@coxswain/planner';
import { familyOfStack, WHOLE_STEP } from '@coxswain/planner/calibration';
import { errorPct, quantile } from '../score/error-statistics.ts';

/** A job that was both predicted and measured. */
export interface MeasuredJob {
  readonly engine: string;
  readonly predictedMs: number;
  readonly measuredMs: number;
}

/** An engine's jobs, and how far off predictions are: as made, and each with the factor that the other jobs give. */
export interface CalibratedEngine {
  readonly engine: string;
  readonly jobs: number;
  readonly factor: number;
  readonly medianBeforePct: number;
  /** Undefined for a single job: there are no others. */
  readonly medianLeftOutPct: number | undefined;
}

/** A cluster profile, and one entry for each family of engines with its error before and after. */
export interface JobsProfile {
  /** Undefined if no job was both predicted and measured. */
  readonly profile: ClusterProfile | undefined;
  readonly engines: readonly CalibratedEngine[];
}

/**
 * Variance of a job about its engine's factor, over that of the factor between clusters. Layouts of one job differ from their prediction by
 * some 5 %, whole sources by some 15 % (docs/reference/planner-score.md): one job counts for nine tenths of itself.
 */
const PRIOR_JOBS = (5 / 15) ** 2;

/** Fits a factor on the whole step for each family of engines. Jobs without positive predicted and measured times are left out. */
export function profileOfJobs(name: string, jobs: readonly MeasuredJob[]): JobsProfile {
  const byEngine = [...Map.groupBy(jobs.filter(isUsable), ({ engine }) => familyOfStack(engine))].sort(([a], [b]) =>
    a < b ? -1 : 1,
  );
  const engines = byEngine.map(([engine, own]) => calibrated(engine, own));
  const factors = engines.map(({ engine, factor }) => ({
    constant: WHOLE_STEP,
    factor: Number(factor.toPrecision(4)),
    engine,
  }));
  return { profile: factors.length === 0 ? undefined : { name, factors: factors.slice(0, MAX_FACTORS) }, engines };
}

/** Most factors of a profile. */
const MAX_FACTORS = 128;

const isUsable = ({ predictedMs, measuredMs }: MeasuredJob): boolean => predictedMs > 0 && measuredMs > 0;

function calibrated(engine: string, jobs: readonly MeasuredJob[]): CalibratedEngine {
  const errorSizePct = ({ predictedMs, measuredMs }: MeasuredJob, factor: number): number =>
    Math.abs(errorPct({ predicted: factor * predictedMs, measured: measuredMs }));
  const median = (values: readonly number[]): number => quantile(values, 0.5) ?? 0;
  const leftOut = jobs.map((job, index) => errorSizePct(job, factorOf(jobs.filter((_, other) => other !== index))));
  return {
    engine,
    jobs: jobs.length,
    factor: factorOf(jobs),
    medianBeforePct: median(jobs.map((job) => errorSizePct(job, 1))),
    medianLeftOutPct: jobs.length < 2 ? undefined : median(leftOut),
  };
}

function factorOf(jobs: readonly MeasuredJob[]): number {
  const sum = jobs.reduce((total, { predictedMs, measuredMs }) => total + Math.log(measuredMs / predictedMs), 0);
  return Math.exp(sum / (jobs.length + PRIOR_JOBS));
}
