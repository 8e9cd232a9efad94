import type { ClusterFabric, FabricPlace } from '@coxswain/api-types';

/** Nodes of 8 GPUs, usable and free, by the place that each has. */
export function aClusterFabric(
  nodes: Readonly<Record<string, FabricPlace>>,
  jobs: ClusterFabric['jobs'] = [],
): ClusterFabric {
  const names = Object.keys(nodes);
  return {
    isStale: false,
    places: Object.values(nodes),
    hardware: [{ gpuType: null, nicType: null, nicSpeedGbps: null, nicCount: null, readFrom: [] }],
    nodes: {
      names,
      gpus: names.map(() => 8),
      usable: names.map(() => true),
      places: names.map((_, index) => index),
      hardware: names.map(() => 0),
    },
    jobs,
    hasMoreJobs: false,
  };
}

interface Where {
  readonly island: string;
  readonly spine: number;
  readonly leaf: number;
  readonly nvlinkDomain?: string;
}

/** Below a leaf of a spine of that island. */
export function aFabricPlace({ island, spine, leaf, nvlinkDomain }: Where): FabricPlace {
  const switches = [`tier-1=s${spine}/tier-0=l${leaf}`, `tier-1=s${spine}`];
  return { island, nvlinkDomain: nvlinkDomain ?? null, switches };
}
