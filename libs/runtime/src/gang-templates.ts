import { CONTAINERS, GPU_RESOURCE } from '@coxswain/api-types';
import type { NodeDemand } from '@coxswain/fabric';

/** It is counted or simulated, and never run. */
const IMAGE = 'registry.k8s.io/pause:3.10';

/** Pods of a gang that ask for the same, as autoscalers and queues count them. */
export interface GangTemplate {
  /** `last`: the one pod with fewer GPUs than the others. */
  readonly kind: 'whole' | 'last';
  readonly count: number;
  readonly gpus: number;
  readonly spec: Readonly<Record<string, unknown>>;
}

/**
 * What chooses nodes and counts as quota of a gang: GPUs, devices, node selector, tolerations. It has nothing else of a job, so that its readers learn no more
 * than the job's size.
 */
export function gangTemplates(gang: {
  readonly ranks: number;
  readonly gpusPerPod: number;
  readonly demand: NodeDemand | undefined;
}): readonly GangTemplate[] {
  const { ranks, gpusPerPod, demand } = gang;
  const whole = Math.floor(ranks / gpusPerPod);
  const last = ranks - whole * gpusPerPod;
  return [
    ...(whole === 0
      ? []
      : [{ kind: 'whole' as const, count: whole, gpus: gpusPerPod, spec: podSpec(demand, gpusPerPod) }]),
    ...(last === 0 ? [] : [{ kind: 'last' as const, count: 1, gpus: last, spec: podSpec(demand, last) }]),
  ];
}

function podSpec(demand: NodeDemand | undefined, gpus: number): GangTemplate['spec'] {
  const { nodeSelector = {}, tolerations = [], devices = {} } = demand ?? {};
  const counts = Object.fromEntries(Object.entries(devices).map(([device, count]) => [device, String(count)]));
  const limits = { [GPU_RESOURCE]: String(gpus), ...counts };
  return {
    restartPolicy: 'Never',
    ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector }),
    tolerations: [{ key: GPU_RESOURCE, operator: 'Exists', effect: 'NoSchedule' }, ...tolerations],
    containers: [{ name: CONTAINERS.trainer, image: IMAGE, resources: { requests: limits, limits } }],
  };
}
