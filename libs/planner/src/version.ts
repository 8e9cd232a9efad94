/**
 * Version of models, calibration and search; it increases when predictions or choices change. It is stored with predictions, so that accuracy is
 * computed per version.
 */
export const PLANNER_VERSION = '3';
