/**
 * Thresholds, each with its source. They were set before the detectors saw a generated trace and are not fitted to any.
 */
export const HEALTH_SETTINGS = {
  hang: {
    /** A wait is named after max(factor x p99 of the operation, least). Ours. */
    nameFactor: 3,
    nameLeastMs: 15_000,
    /** And acted on after max(factor x longest step, least): factor of NVRx's fault tolerance (safety_factor 5). */
    actFactor: 5,
    actLeastMs: 60_000,
    /** All ranks report, are at the same step and report no phase: PyTorch's watchdog waits as long. */
    unknownLeastMs: 600_000,
    /** Reporting periods without a report after which the state of a rank is unknown. Ours. */
    silentPeriods: 3,
    /** The same if ranks repeatedly resumed after longer silences. Ours. */
    mostSilentPeriods: 8,
    /** Steps at the start that teach nothing (NVRx: 5 iterations). */
    warmUpSteps: 5,
    /** For phases that have not ended yet in this job; after one has, actFactor x the longest, and never less than actLeastMs. Ours. */
    patienceMs: { starting: 1_800_000, compiling: 1_800_000, evaluating: 3_600_000, saving: 900_000 },
  },
  standing: {
    /** A gang without step, collective, CPU time and output for so long is an incident. PyTorch's watchdog waits as long. */
    idleMs: 600_000,
    /** CPU time per second of wall time below which a rank counts as idle; the thread of the hook uses less. Ours. */
    idleCpuShare: 0.02,
    /** Peers of a rank that finished end within seconds. Ours. */
    finishedMs: 5_000,
    /** py-spy and gdb stop a process for less. Ours. */
    stoppedMs: 15_000,
    /** Storage waits of a healthy node are shorter, and are not in each of six reports. Ours. */
    waitingMs: 60_000,
    /** Time without a step after which the state says what the ranks do instead. Ours. */
    beforeStepMs: 60_000,
  },
  slow: {
    windowMs: 60_000,
    /** Fewer steps in a window and it goes on: a median of five is not moved by two wild ones. */
    leastSteps: 5,
    /** Robust z and size of the effect: EROICA's 5 MAD and 5 %. */
    z: 5,
    excess: 0.05,
    /** Share of the median below which spread is not believed. */
    epsilon: 0.01,
    /** A named rank is replaced once its slowness has cost the job so much: 1 to 2 minutes with a warm spare (ByteRobust). */
    replaceCostMs: 120_000,
    /** Mean of five windows in a row, each above half the excess: for steps that spread too far for a single window. 1e-5 false alarms a day if it is normal. Ours. */
    longZ: 7,
    /** Of a group's transfer time over its peers: GREYHOUND's 10 %. */
    linkExcess: 0.1,
    /** 3 of 5 windows: 0.24 false alarms a day at 16,384 ranks and a false rate of 1e-3 a window. */
    flagged: 3,
    windows: 5,
    windowFalseRate: 1e-3,
    /** Of a whole job: a straggling job is one slowed by a tenth (What-if, S >= 1.1). */
    jobExcess: 0.1,
    /** A change of step time is believed after so many steps. */
    jobSteps: 20,
    /** Part of the variance of compute time that reported work must explain. Ours. */
    explained: 0.5,
  },
  data: {
    /** waitShare: part of a step spent waiting for data. If fewer than hostShare of the ranks wait, their host is at fault; if more than sharedShare, their shared storage. Ours. */
    waitShare: 0.1,
    hostShare: 0.05,
    sharedShare: 0.5,
  },
  loss: {
    /** Times the running median (ByteRobust: 5 x). */
    jump: 5,
    /** And so many of its median absolute deviations: a figure that always swings is not far off for that. Ours. */
    spread: 20,
    /** A gradient norm must be far off in this many consecutive steps; a loss is reported at once. Ours. */
    normsInARow: 3,
    history: 50,
    leastHistory: 20,
  },
} as const;

type Numbers<T> = { readonly [Key in keyof T]: T[Key] extends number ? number : Numbers<T[Key]> };
/** Thresholds of all detectors. */
export type HealthSettings = Numbers<typeof HEALTH_SETTINGS>;
