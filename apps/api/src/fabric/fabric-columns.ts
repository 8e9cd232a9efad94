import type { ClusterFabric, FabricHardware, FabricPlace } from '@coxswain/api-types';
import type { Fabric, FabricNode } from '@coxswain/fabric';

/** What is told of nodes alone. */
export type FabricColumns = Pick<ClusterFabric, 'places' | 'hardware' | 'nodes'>;

/** The nodes as columns: places and hardware that several share are told once. */
export function columnsOf({ nodes }: Fabric): FabricColumns {
  const places = new Told<FabricPlace>();
  const hardware = new Told<FabricHardware>();
  return {
    nodes: {
      names: nodes.map(({ name }) => name),
      gpus: nodes.map(({ gpus }) => gpus),
      usable: nodes.map(({ usable }) => usable),
      places: nodes.map((node) => places.indexOf(placeOf(node))),
      hardware: nodes.map((node) => hardware.indexOf(hardwareOf(node))),
    },
    places: places.items,
    hardware: hardware.items,
  };
}

function placeOf({ name, island, nvlinkDomain, switches }: FabricNode): FabricPlace {
  const isAlone = nvlinkDomain === `node:${name}`;
  return { island, nvlinkDomain: isAlone ? null : nvlinkDomain, switches: [...switches] };
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

/** Things told once each, by what they say. */
class Told<T> {
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
