/** The run id under which a rank reports to Weights & Biases. */
import { POD_ENV } from '@coxswain/api-types';

/**
 * The run id of W&B is the job's UID, so that every attempt continues one curve, in any pod. Two processes must not share one ("Unexpected results will
 * occur if multiple processes use the same id concurrently"): other ranks that log too get their own ids. Empty
 * if the user sets an id.
 */
export function trackedRun(
  environment: Readonly<Record<string, string | undefined>>,
  rank: number,
): Readonly<Record<string, string>> {
  const uid = environment[POD_ENV.jobUid];
  if (uid === undefined || environment['WANDB_RUN_ID'] !== undefined) return {};
  const id = rank === 0 ? uid : `${uid}-rank-${rank}`;
  return { WANDB_RUN_ID: id, WANDB_RESUME: environment['WANDB_RESUME'] ?? 'allow' };
}
