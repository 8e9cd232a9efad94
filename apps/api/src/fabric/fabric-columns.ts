import type { ClusterFabric } from '@coxswain/api-types';
import { columnsOf as recordedColumns, type Fabric, recordedNode } from '@coxswain/fabric';

/** What the answer says of nodes alone. */
export type FabricColumns = Pick<ClusterFabric, 'places' | 'hardware' | 'nodes'>;

/** The nodes as columns, with which of them take pods. */
export function columnsOf({ nodes }: Fabric): FabricColumns {
  const { places, hardware, nodes: columns } = recordedColumns(nodes.map(recordedNode));
  const { names, gpus, ...indexes } = columns;
  const usable = nodes.map((node) => node.usable);
  return { places: [...places], hardware: [...hardware], nodes: { names, gpus, usable, ...indexes } };
}
