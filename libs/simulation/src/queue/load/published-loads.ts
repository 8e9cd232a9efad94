/**
 * Figures of published traces that generated months are fitted to.
 *
 * PHILLY: fitted to the job log of Microsoft's Philly cluster, 79,716 jobs from 2017-09-20 to 2017-12-09. Source: msr-fiddle/philly-traces,
 * licence CC BY 4.0; Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training Workloads", USENIX ATC 2019. Read as
 * `simulator/traces/philly.csv` of petuum/adaptdl, branch osdi21-artifact, commit c793c708 (time, seconds, GPUs, virtual cluster). The log
 * itself is not copied.
 *
 * ACME: `data/cluster_summary.csv` of InternLM/AcmeTrace, commit 6d6ac9cd, row Kalos (19,907 GPU jobs). Licence CC BY 4.0; Hu et al.,
 * "Characterization of Large Language Model Development in the Datacenter", NSDI 2024.
 */
export const PHILLY = {
  /** Arrivals in each hour of the day against the mean, from 00:00 on. */
  arrivalsByHour: [
    1.26, 0.98, 1.11, 1.11, 0.68, 1.13, 1.68, 2.1, 1.11, 1.01, 1.03, 0.88, 0.75, 0.7, 0.64, 0.65, 0.89, 0.67, 0.81,
    0.72, 1.03, 0.89, 1.15, 1.02,
  ],
  /** Arrivals on each day of the week against the mean, from Monday on. */
  arrivalsByWeekday: [0.9, 1.07, 1.09, 1.22, 1.39, 0.63, 0.62],
  /** Coefficient of variation of the arrivals of a day, beside those two factors and the chance of single arrivals. */
  dailyVariation: 0.84,
  /** Share of jobs that arrive less than 60 s after another one of their virtual cluster: jobs of one GPU, and those of 8 GPUs and more. */
  shareInBursts: { small: 0.74, gangs: 0.21 },
  /** Shares of the eleven largest virtual clusters in the GPU time. */
  tenantShares: [0.273, 0.144, 0.134, 0.092, 0.088, 0.087, 0.083, 0.046, 0.029, 0.014, 0.01],
  /** Run time in hours at each quantile, mean 3.5 h. */
  runHoursAt: [
    [0, 0.001],
    [0.05, 0.013],
    [0.2, 0.021],
    [0.3, 0.061],
    [0.4, 0.173],
    [0.5, 0.33],
    [0.6, 0.515],
    [0.7, 0.711],
    [0.8, 1.186],
    [0.9, 3.101],
    [0.95, 11.889],
    [0.98, 41.056],
    [1, 174],
  ],
  /** Share of jobs that do not complete: cancelled or failed. */
  shareEndingEarly: 0.395,
} as const;

/** See {@link PHILLY}. */
export const ACME = {
  /** Mean run time of a GPU, in hours: 5.333e9 GPU-seconds over 19,907 jobs with a mean of 26.77 GPUs. */
  meanGpuHours: 2.78,
  longestHours: 174,
  /** Share of the GPU time in jobs that users cancelled. */
  cancelledGpuTime: 0.607,
} as const;
