import { worldSize } from '@coxswain/layout';
import type { GangRequest } from '../gang-request.ts';

/** Default of most machines, if neither job nor runtime sets it. */
const USUAL_GPUS_PER_NODE = 8;

/** Ranks of the gang, and the GPUs of each of its pods but the last. */
export function podShape(request: Pick<GangRequest, 'layout' | 'gpusPerNode'>): {
  readonly ranks: number;
  readonly gpusPerPod: number;
} {
  const ranks = worldSize(request.layout);
  return { ranks, gpusPerPod: Math.min(ranks, request.gpusPerNode ?? USUAL_GPUS_PER_NODE) };
}
