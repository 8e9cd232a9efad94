import { NODE_LABELS } from '@coxswain/api-types';
import { NIC_COUNTS, NIC_RESOURCES, NIC_TYPE_KEYS } from './dialects.ts';
import type { DraAttributes, NodeFacts } from './fabric.ts';
import type { Said, Speaker } from './reported-labels.ts';

/** The network cards between nodes, as far as anybody says. */
export interface NicReading {
  readonly nicType?: Said;
  /** Of one NIC. */
  readonly nicSpeedGbps?: Said<number>;
  readonly nicCount?: Said<number>;
}

const MOST_GBPS = 100_000;

/** Labels before DRA attributes before device resources: an administrator's word before what can be counted, that before what is guessed by a name. */
export function readNics(node: NodeFacts, say: Speaker): NicReading {
  const nicType = typeByLabel(say) ?? typeByDra(node) ?? typeByResource(node);
  const nicCount = countByLabel(say) ?? countByInterfaces(node) ?? countByDra(node) ?? countByResource(node);
  const nicSpeedGbps = speedByLabel(say) ?? speedByTotal(say, nicCount);
  return {
    ...(nicType === undefined ? {} : { nicType }),
    ...(nicCount === undefined ? {} : { nicCount }),
    ...(nicSpeedGbps === undefined ? {} : { nicSpeedGbps }),
  };
}

/** Classes are compared, so they are told in lower case, whoever wrote them. */
function typeByLabel(say: Speaker): Said | undefined {
  for (const key of NIC_TYPE_KEYS) {
    const said = say(key);
    if (said !== undefined) return { key, value: said.value.toLowerCase() };
  }
  return undefined;
}

const RDMA = 'dra.net/rdma';
const ENCAPSULATION = 'dra.net/encapsulation';
const VENDOR = 'dra.net/pciVendor';
/** What of a device tells whether it is a NIC of the fabric, and of which class. */
export const NIC_ATTRIBUTES = [RDMA, ENCAPSULATION, VENDOR] as const;

/** dranet tells the link layer of each device; where RDMA devices of both are in one node, which of them trains is not known. */
export function typeByDra({ draDevices = [] }: NodeFacts): Said | undefined {
  const types = new Set(draDevices.filter(isRdma).map((device) => linkLayer(device)));
  const [type] = types;
  return types.size === 1 && type !== undefined ? { key: ENCAPSULATION, value: type } : undefined;
}

function isRdma(device: DraAttributes): boolean {
  return device[RDMA] === true;
}

function linkLayer(device: DraAttributes): string | undefined {
  const vendor = device[VENDOR];
  // EFA calls itself Ethernet that can do RDMA; it is neither RoCE nor joined with it.
  if (typeof vendor === 'string' && vendor.startsWith('Amazon')) return 'efa';
  if (device[ENCAPSULATION] === 'infiniband') return 'infiniband';
  return device[ENCAPSULATION] === 'ether' ? 'roce' : undefined;
}

function typeByResource({ devices = {} }: NodeFacts): Said | undefined {
  for (const { resource, nicType } of NIC_RESOURCES) {
    if (nicType !== undefined && (devices[resource] ?? 0) > 0) return { key: resource, value: nicType };
  }
  return undefined;
}

function countByLabel(say: Speaker): Said<number> | undefined {
  return numberSaid(say(NODE_LABELS.nicCount), NIC_COUNTS.most);
}

/** CoreWeave writes a label for each interface. */
const INTERFACE = /^(?:backend|ib)\.coreweave\.cloud\/neighbors\.expected\.[a-z0-9]{1,32}\.device$/;

function countByInterfaces({ labels }: NodeFacts): Said<number> | undefined {
  const keys = Object.keys(labels).filter((key) => key.includes('neighbors.expected') && INTERFACE.test(key));
  const count = new Set(keys.map((key) => key.split('.').at(-2))).size;
  return count === 0 || count > NIC_COUNTS.most
    ? undefined
    : { key: 'coreweave.cloud/neighbors.expected', value: count };
}

function countByDra({ draDevices = [] }: NodeFacts): Said<number> | undefined {
  const count = draDevices.filter(isRdma).length;
  return count === 0 || count > NIC_COUNTS.most ? undefined : { key: RDMA, value: count };
}

function countByResource({ devices = {} }: NodeFacts): Said<number> | undefined {
  for (const { resource } of NIC_RESOURCES) {
    const value = devices[resource] ?? 0;
    if (value >= NIC_COUNTS.fewest && value <= NIC_COUNTS.most) return { key: resource, value };
  }
  return undefined;
}

function speedByLabel(say: Speaker): Said<number> | undefined {
  return numberSaid(say(NODE_LABELS.nicSpeedGbps), MOST_GBPS);
}

const TOTAL_SPEED = 'ib.coreweave.cloud/speed';

/** CoreWeave tells the node's whole speed, such as 3200G. */
function speedByTotal(say: Speaker, count: Said<number> | undefined): Said<number> | undefined {
  const [, total = '0'] = /^([0-9]{1,6})G$/.exec(say(TOTAL_SPEED)?.value ?? '') ?? [];
  const value = count === undefined ? 0 : Number(total) / count.value;
  return value > 0 ? { key: TOTAL_SPEED, value } : undefined;
}

function numberSaid(said: Said | undefined, most: number): Said<number> | undefined {
  const value = Number(said?.value);
  return said !== undefined && value > 0 && value <= most ? { key: said.key, value } : undefined;
}
