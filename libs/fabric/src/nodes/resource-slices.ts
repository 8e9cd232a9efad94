/** What do DRA drivers say of the devices of a node? Read in Kubernetes' API reference, resource.k8s.io v1 and v1beta1, and the drivers' own pages. */
import { FABRIC_LABELS } from './dialects.ts';
import type { DraAttributes } from './fabric.ts';
import { NIC_ATTRIBUTES } from './nics.ts';

/** Attributes that say something of the fabric; a slice holds many more. */
const OF_FABRIC: ReadonlySet<string> = new Set([
  ...FABRIC_LABELS.switchDialects.flatMap(({ tiers, roots }) => [...tiers.flat(), ...roots]),
  ...FABRIC_LABELS.nvlinkDomainKeys,
  ...FABRIC_LABELS.nvlinkSubDomainKeys,
  ...FABRIC_LABELS.gpuTypeKeys,
  ...FABRIC_LABELS.nicTypeKeys,
  ...NIC_ATTRIBUTES,
]);

/** NVIDIA's driver writes a product as the GPU calls itself, feature discovery writes dashes for spaces: they are to be the same. */
const WITH_SPACES: ReadonlySet<string> = new Set(['gpu.nvidia.com/productName']);

/** A slice may hold 128, and a node has no more that matter. */
const MOST_DEVICES = 256;

/** What is read here, as Kubernetes names it. */
export const RESOURCE_SLICES = { group: 'resource.k8s.io', version: 'v1', plural: 'resourceslices' };
/** A slice has at most 128 devices, of about a kilobyte. */
export const SLICES_PER_PAGE = 100;
/** NICs and NVLink domains do not come and go: a list of 10,000 nodes' devices is 100 MB, so it is no watch, and read seldom. */
export const SLICES_INTERVAL_MS = 300_000;
/** Several drivers on more nodes than there are. */
const MOST_SLICES = 100_000;

/** As much of a ResourceSlice as the fabric is read from. */
export interface SliceOfNode {
  readonly nodeName: string;
  /** Driver and pool. */
  readonly pool: string;
  readonly generation: number;
  /** Those that say something. */
  readonly devices: readonly DraAttributes[];
}

/** undefined: devices that are not of one node, or none. Never throws. */
export function sliceOfNode(slice: unknown): SliceOfNode | undefined {
  const spec = record(record(slice)['spec']);
  const { driver, nodeName } = spec;
  const pool = record(spec['pool']);
  if (typeof nodeName !== 'string' || nodeName === '' || typeof driver !== 'string') return undefined;
  const devices = list(spec['devices']).map((device) => attributesOf(driver, device));
  const generation = typeof pool['generation'] === 'number' ? pool['generation'] : 0;
  return {
    nodeName,
    pool: `${driver}/${String(pool['name'])}`,
    generation,
    devices: devices.filter((device) => Object.keys(device).length > 0).slice(0, MOST_DEVICES),
  };
}

/** What a list of slices says that is read page by page. */
export class ListedSlices {
  readonly #slices: SliceOfNode[] = [];

  /** False: what follows is not worth its bytes. */
  take(page: readonly unknown[]): boolean {
    this.#slices.push(...page.flatMap((slice) => sliceOfNode(slice) ?? []));
    return this.#slices.length < MOST_SLICES;
  }

  /** As {@link draDevicesByNode}. */
  devicesByNode(): ReadonlyMap<string, readonly DraAttributes[]> {
    return draDevicesByNode(this.#slices);
  }
}

/** Devices by node. Of a pool the slices of its newest generation count: older ones are about to be deleted. */
export function draDevicesByNode(slices: readonly SliceOfNode[]): ReadonlyMap<string, readonly DraAttributes[]> {
  const newest = new Map<string, number>();
  for (const slice of slices) newest.set(poolOf(slice), Math.max(newest.get(poolOf(slice)) ?? 0, slice.generation));
  const current = slices.filter((slice) => slice.generation === newest.get(poolOf(slice)) && slice.devices.length > 0);
  // The API server lists them by name; the order in which they came says nothing.
  const sorted = current.toSorted((one, other) => (poolOf(one) < poolOf(other) ? -1 : 1));
  return new Map(
    [...Map.groupBy(sorted, ({ nodeName }) => nodeName)].map(([node, own]) => [
      node,
      own.flatMap(({ devices }) => devices).slice(0, MOST_DEVICES),
    ]),
  );
}

function poolOf({ nodeName, pool }: SliceOfNode): string {
  return `${nodeName}/${pool}`;
}

/** An attribute without a domain is in that of its driver. v1beta1 has them below `basic`. */
function attributesOf(driver: string, device: Fields): DraAttributes {
  const attributes = device['attributes'] ?? record(device['basic'])['attributes'];
  const read = Object.entries(record(attributes)).flatMap(([name, given]) => {
    const key = name.includes('/') ? name : `${driver}/${name}`;
    const value = valueOf(record(given));
    if (value === undefined || !OF_FABRIC.has(key)) return [];
    return [[key, WITH_SPACES.has(key) && typeof value === 'string' ? value.replaceAll(' ', '-') : value] as const];
  });
  return Object.fromEntries(read);
}

function valueOf({ string, bool, int, version }: Fields): string | number | boolean | undefined {
  if (typeof string === 'string') return string;
  if (typeof bool === 'boolean') return bool;
  if (typeof int === 'number') return int;
  return typeof version === 'string' ? version : undefined;
}

type Fields = Readonly<Record<string, unknown>>;

function record(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function list(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(record) : [];
}
