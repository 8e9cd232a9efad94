import type { FabricStatus } from '@coxswain/api-types';
import type { FabricCapacity } from '@coxswain/fabric';

/** Types that status lists, as many as its schema allows. */
const MAX_TYPES = 64;
const UNLABELLED = 'unlabelled';

/** How many GPUs are free, in all and by type. GPUs of a node that is not ready or cordoned are not free. */
export function countGpus({ fabric, usedGpus }: FabricCapacity): Required<Pick<FabricStatus, 'freeGpus' | 'gpuTypes'>> {
  const types = new Map<string, { total: number; free: number }>();
  for (const { name, gpus, gpuType = UNLABELLED, usable } of fabric.nodes) {
    const sum = types.get(gpuType) ?? { total: 0, free: 0 };
    types.set(gpuType, sum);
    sum.total += gpus;
    if (usable) sum.free += Math.max(0, gpus - (usedGpus.get(name) ?? 0));
  }
  const gpuTypes = [...types]
    .map(([type, counts]) => ({ type, ...counts }))
    .toSorted((one, other) => other.total - one.total || (one.type < other.type ? -1 : 1));
  return {
    freeGpus: gpuTypes.reduce((sum, { free }) => sum + free, 0),
    gpuTypes: gpuTypes.slice(0, MAX_TYPES),
  };
}
