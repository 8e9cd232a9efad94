import type { TensorGroup } from '@coxswain/api-types';

/** Four weights, each saved as two chunks of rows. */
export function aTensorGroup(changes: Partial<TensorGroup> = {}): TensorGroup {
  return {
    name: 'w.{0..3}',
    tensors: 4,
    dtype: 'bfloat16',
    shape: [8, 4],
    grid: [2, 1],
    kind: 'parameter',
    ...changes,
  };
}
