/** Does it pay that a running job changes its number of GPUs, and how long does it wait before? Pure numbers; the operator and the simulation ask the same. */

/** Limits of changes of size. */
export interface SizeRules {
  /** What a change has to gain, in multiples of its cost: a change may have to be undone once. */
  readonly costsToGain: number;
  /** Speed that each further GPU has to add, as a share of the speed that each GPU has now. Below that it helps other jobs more. */
  readonly leastEfficiency: number;
  /** A gang runs for at least that many times the cost of a change before it grows. */
  readonly restCosts: number;
  /** A job whose quota was taken back within this time of a growth grows on no borrowed quota for {@link SizeRules.reclaimPauseSeconds}. */
  readonly reclaimedWithinSeconds: number;
  readonly reclaimPauseSeconds: number;
  /** How often the wait before a growth is doubled at most. */
  readonly mostDoublings: number;
}

/** 32 times the wait of ten minutes is five hours, so an unstable node costs at most five restarts a day. */
export const SIZE_RULES: SizeRules = {
  costsToGain: 2,
  leastEfficiency: 0.5,
  restCosts: 10,
  reclaimedWithinSeconds: 3_600,
  reclaimPauseSeconds: 86_400,
  mostDoublings: 5,
};

/** A growth of a running gang. */
export interface GrowthQuestion {
  readonly fromGpus: number;
  readonly toGpus: number;
  /** Step time now over the step time on `toGpus`. */
  readonly speedup: number;
  /** Seconds without training: save, start, another division of the checkpoint. */
  readonly costSeconds: number;
  /** How long the job would have the larger size: until its end, or until the next change that it does not choose. */
  readonly horizonSeconds: number;
  /** How long the gang has run. */
  readonly ranSeconds: number;
  /** Since its quota was taken back soon after a growth. Absent: it was not. */
  readonly reclaimedSecondsAgo?: number;
  /** Whether it would borrow quota of others. */
  readonly borrows: boolean;
}

/** Which condition keeps a gang from growing. */
export type GrowthObstacle = 'QuotaReclaimed' | 'LittleFaster' | 'DoesNotPay' | 'ChangedRecently';

/** The rules for another multiple of the cost: the rest between changes follows. 0: each growth pays. */
export function rulesFor(costsToGain: number): SizeRules {
  const { restCosts, costsToGain: usual } = SIZE_RULES;
  const leastEfficiency = costsToGain === 0 ? -Infinity : SIZE_RULES.leastEfficiency;
  return { ...SIZE_RULES, costsToGain, restCosts: (restCosts / usual) * costsToGain, leastEfficiency };
}

/** The first condition that keeps the gang from growing; undefined: growth pays. Conditions that last longest come first. */
export function growthObstacle(question: GrowthQuestion, rules: SizeRules = SIZE_RULES): GrowthObstacle | undefined {
  const { costSeconds, horizonSeconds, ranSeconds, reclaimedSecondsAgo = Infinity, borrows, speedup } = question;
  if (borrows && reclaimedSecondsAgo < rules.reclaimPauseSeconds) return 'QuotaReclaimed';
  if (!(efficiency(question) >= rules.leastEfficiency)) return 'LittleFaster';
  if (rules.costsToGain > 0 && !(horizonSeconds * (speedup - 1) > rules.costsToGain * costSeconds)) return 'DoesNotPay';
  return ranSeconds < rules.restCosts * costSeconds ? 'ChangedRecently' : undefined;
}

/** Speed that each further GPU adds, as a share of the speed that each GPU has now. */
export function efficiency({
  fromGpus,
  toGpus,
  speedup,
}: Pick<GrowthQuestion, 'fromGpus' | 'toGpus' | 'speedup'>): number {
  return ((speedup - 1) * fromGpus) / (toGpus - fromGpus);
}

/** How long the missing GPUs must stay free. Each growth of the last day that was undone doubles it. */
export function growthWaitMs(floorMs: number, undone: number, rules: SizeRules = SIZE_RULES): number {
  return floorMs * 2 ** Math.min(rules.mostDoublings, undone);
}

/** A gang lost a node. It can wait for the node, or go on with fewer GPUs and grow again later. */
export interface ShrinkQuestion {
  /** Median of the times after which the job had all its GPUs again. Absent: it never waited for that. */
  readonly returnSeconds?: number;
  /** Speed on the fewer GPUs, as a share of the speed on all of them. */
  readonly speed: number;
  readonly costSeconds: number;
  readonly floorMs: number;
}

/**
 * How long a job without enough nodes waits before it asks for fewer GPUs. To wait costs all of the time; to shrink costs two changes and the slower steps
 * between them. If nodes usually return sooner than that pays, the job waits twice the usual time, and then shrinks: these nodes do not return as usual.
 */
export function shrinkWaitMs({ returnSeconds, speed, costSeconds, floorMs }: ShrinkQuestion): number {
  if (returnSeconds === undefined || returnSeconds * speed > SIZE_RULES.costsToGain * costSeconds) return floorMs;
  return Math.max(floorMs, 2 * returnSeconds * 1_000);
}
