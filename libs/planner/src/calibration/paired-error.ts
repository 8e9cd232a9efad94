/**
 * Prediction error between two layouts of one job, in percent. Smaller predicted differences do not show which layout is faster.
 *
 * The error of a prediction is mostly one of the job: of its machines, its release, its model. Layouts of one job share it, so their ratio is known
 * far better than their times: by 3.1 % at the median of 63 published jobs of which several layouts were measured that are predicted within a tenth
 * of each other (`paired-error.ts` of the calibration computes it from the rows).
 */
export const PAIRED_ERROR_PCT = 3;
