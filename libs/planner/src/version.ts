/**
 * Counts up with every change of models, calibration or search that changes what is predicted or chosen. Stored beside predictions, so that
 * they are compared with measurements under the version that made them.
 */
export const PLANNER_VERSION = '3';
