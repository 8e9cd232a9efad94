import { NODE_LABELS } from '@coxswain/api-types';
import { NIC_COUNTS, NIC_RESOURCES, NIC_TYPE_KEYS } from './dialects.ts';
import type { DraAttributes, NodeFacts } from './fabric.ts';
import type { ReportedValue, LabelReader } from './reported-labels.ts';

/** The network cards between nodes, as far as anybody says. */
export interface NicReading {
  readonly nicType?: ReportedValue;
  /** Of one NIC. */
  readonly nicSpeedGbps?: ReportedValue<number>;
  readonly nicCount?: ReportedValue<number>;
}

const MOST_GBPS = 100_000;

/** Labels before DRA attributes before device resources: an administrator's word before what can be counted, that before what is guessed by a name. */
export function readNics(node: NodeFacts, labelOf: LabelReader): NicReading {
  const nicType = typeByLabel(labelOf) ?? typeByDra(node) ?? typeByResource(node);
  const nicCount = countByLabel(labelOf) ?? countByInterfaces(node) ?? countByDra(node) ?? countByResource(node);
  const nicSpeedGbps = speedByLabel(labelOf) ?? speedByTotal(labelOf, nicCount);
  return {
    ...(nicType === undefined ? {} : { nicType }),
    ...(nicCount === undefined ? {} : { nicCount }),
    ...(nicSpeedGbps === undefined ? {} : { nicSpeedGbps }),
  };
}

/** Classes are compared, so they are in lower case. */
function typeByLabel(labelOf: LabelReader): ReportedValue | undefined {
  for (const key of NIC_TYPE_KEYS) {
    const reported = labelOf(key);
    if (reported !== undefined) return { key, value: reported.value.toLowerCase() };
  }
  return undefined;
}

const RDMA = 'dra.net/rdma';
const ENCAPSULATION = 'dra.net/encapsulation';
const VENDOR = 'dra.net/pciVendor';
/** The attributes of a device that show whether it is a NIC of the fabric, and its class. */
export const NIC_ATTRIBUTES = [RDMA, ENCAPSULATION, VENDOR] as const;

/** dranet tells the link layer of each device; where RDMA devices of both are in one node, which of them trains is not known. */
export function typeByDra({ draDevices = [] }: NodeFacts): ReportedValue | undefined {
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

function typeByResource({ devices = {} }: NodeFacts): ReportedValue | undefined {
  for (const { resource, nicType } of NIC_RESOURCES) {
    if (nicType !== undefined && (devices[resource] ?? 0) > 0) return { key: resource, value: nicType };
  }
  return undefined;
}

function countByLabel(labelOf: LabelReader): ReportedValue<number> | undefined {
  return reportedNumber(labelOf(NODE_LABELS.nicCount), NIC_COUNTS.most);
}

/** CoreWeave writes a label for each interface. */
const INTERFACE = /^(?:backend|ib)\.coreweave\.cloud\/neighbors\.expected\.[a-z0-9]{1,32}\.device$/;

function countByInterfaces({ labels }: NodeFacts): ReportedValue<number> | undefined {
  const keys = Object.keys(labels).filter((key) => key.includes('neighbors.expected') && INTERFACE.test(key));
  const count = new Set(keys.map((key) => key.split('.').at(-2))).size;
  return count === 0 || count > NIC_COUNTS.most
    ? undefined
    : { key: 'coreweave.cloud/neighbors.expected', value: count };
}

function countByDra({ draDevices = [] }: NodeFacts): ReportedValue<number> | undefined {
  const count = draDevices.filter(isRdma).length;
  return count === 0 || count > NIC_COUNTS.most ? undefined : { key: RDMA, value: count };
}

function countByResource({ devices = {} }: NodeFacts): ReportedValue<number> | undefined {
  for (const { resource } of NIC_RESOURCES) {
    const value = devices[resource] ?? 0;
    if (value >= NIC_COUNTS.fewest && value <= NIC_COUNTS.most) return { key: resource, value };
  }
  return undefined;
}

function speedByLabel(labelOf: LabelReader): ReportedValue<number> | undefined {
  return reportedNumber(labelOf(NODE_LABELS.nicSpeedGbps), MOST_GBPS);
}

const TOTAL_SPEED = 'ib.coreweave.cloud/speed';

/** CoreWeave tells the node's whole speed, such as 3200G. */
function speedByTotal(
  labelOf: LabelReader,
  count: ReportedValue<number> | undefined,
): ReportedValue<number> | undefined {
  const [, total = '0'] = /^([0-9]{1,6})G$/.exec(labelOf(TOTAL_SPEED)?.value ?? '') ?? [];
  const value = count === undefined ? 0 : Number(total) / count.value;
  return value > 0 ? { key: TOTAL_SPEED, value } : undefined;
}

function reportedNumber(reported: ReportedValue | undefined, most: number): ReportedValue<number> | undefined {
  const value = Number(reported?.value);
  return reported !== undefined && value > 0 && value <= most ? { key: reported.key, value } : undefined;
}
