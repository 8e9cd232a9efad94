import type { TrainingJobStatus } from '@coxswain/api-types';

/** Whether two statuses say the same: key order and keys that are undefined do not count. */
export function sameStatus(left: TrainingJobStatus | undefined, right: TrainingJobStatus | undefined): boolean {
  return canonical(left) === canonical(right);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : part,
  );
}
