import type { ModelSpec } from '@coxswain/api-types';
import { modelOf } from '@coxswain/planner/presets';
import { modelOfJob } from '../../model-of-job.ts';

/** The planner's own name of the preset, whichever spelling the job has; undefined where it names none that is known. */
export function presetOf(model: ModelSpec): string | undefined {
  if (model.preset === undefined || modelOfJob(model) === undefined) return undefined;
  return modelOf(model.preset).name;
}
