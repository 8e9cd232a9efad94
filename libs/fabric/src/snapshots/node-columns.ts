/** How are many nodes stored in few bytes? As columns, with each distinct place and hardware stored once. */
import type { FabricHardware, FabricPlace, RecordedFabricNodes } from '@coxswain/api-types';
import type { FabricNode } from '../nodes/fabric.ts';
import { isInOwnDomain } from '../nodes/own-domain.ts';

/** What is known of a node's place and hardware, whether or not it takes pods. */
export interface RecordedNode {
  readonly name: string;
  readonly gpus: number;
  readonly place: FabricPlace;
  readonly hardware: FabricHardware;
}

/** The same index is the same node. */
export interface NodeColumns {
  readonly places: readonly FabricPlace[];
  readonly hardware: readonly FabricHardware[];
  readonly nodes: RecordedFabricNodes;
}

/** The part of a node that snapshots record. */
export function recordedNode(node: FabricNode): RecordedNode {
  return { name: node.name, gpus: node.gpus, place: placeOf(node), hardware: hardwareOf(node) };
}

/** Stores nodes as columns; places and hardware are stored once and referred to by index. */
export function columnsOf(nodes: readonly RecordedNode[]): NodeColumns {
  const places = new DistinctItems<FabricPlace>();
  const hardware = new DistinctItems<FabricHardware>();
  return {
    nodes: {
      names: nodes.map(({ name }) => name),
      gpus: nodes.map(({ gpus }) => gpus),
      places: nodes.map(({ place }) => places.indexOf(place)),
      hardware: nodes.map((node) => hardware.indexOf(node.hardware)),
    },
    places: places.items,
    hardware: hardware.items,
  };
}

const NOWHERE: FabricPlace = { island: '', nvlinkDomain: null, switches: [] };
const NOTHING: FabricHardware = { gpuType: null, nicType: null, nicSpeedGbps: null, nicCount: null, readFrom: [] };

/** The nodes of columns that {@link columnsOf} made. */
export function nodesOf({ nodes, places, hardware }: NodeColumns): readonly RecordedNode[] {
  return nodes.names.map((name, index) => ({
    name,
    gpus: nodes.gpus[index] ?? 0,
    place: places[nodes.places[index] ?? -1] ?? NOWHERE,
    hardware: hardware[nodes.hardware[index] ?? -1] ?? NOTHING,
  }));
}

function placeOf(node: FabricNode): FabricPlace {
  const { island, nvlinkDomain, switches } = node;
  return { island, nvlinkDomain: isInOwnDomain(node) ? null : nvlinkDomain, switches: [...switches] };
}

function hardwareOf({ gpuType, nicType, nicSpeedGbps, nicCount, readFrom = {} }: FabricNode): FabricHardware {
  return {
    gpuType: gpuType ?? null,
    nicType: nicType ?? null,
    nicSpeedGbps: nicSpeedGbps ?? null,
    nicCount: nicCount ?? null,
    readFrom: Object.entries(readFrom).map(([fact, key]) => ({ fact, key })),
  };
}

/** A list of distinct items; items with equal JSON are stored once. */
class DistinctItems<T> {
  readonly items: T[] = [];
  readonly #indexes = new Map<string, number>();

  indexOf(item: T): number {
    const key = JSON.stringify(item);
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    this.#indexes.set(key, this.items.length);
    return this.items.push(item) - 1;
  }
}
