import type { TrainingJobStatus } from '@coxswain/api-types';
import { canonicalJson } from './canonical-json.ts';

/** Whether two statuses say the same: key order and keys that are undefined do not count. */
export function sameStatus(left: TrainingJobStatus | undefined, right: TrainingJobStatus | undefined): boolean {
  return canonicalJson(left) === canonicalJson(right);
}
