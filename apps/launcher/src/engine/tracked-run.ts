/** Under which id does a rank tell Weights & Biases of its run? */
import { POD_ENV } from '@coxswain/api-types';

/**
 * The id of W&B is the job's, so that every epoch goes on with one curve, in whichever pod. Two processes must not share one ("Unexpected results will
 * occur if multiple processes use the same id concurrently"): a rank other than the first that logs as well has an id of its own. Nothing
 * where the user says an id.
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
