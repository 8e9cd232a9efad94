import { NODE_LABELS } from '@coxswain/api-types';
import {
  GPU_TYPE_KEYS,
  NVLINK_DOMAIN_KEYS,
  NVLINK_SUB_DOMAIN_KEYS,
  PLACE_LABELS,
  SWITCH_DIALECTS,
  type SwitchDialect,
  ZONE_LABEL,
} from './dialects.ts';
import type { NodeFacts } from './fabric.ts';
import { type NicReading, readNics } from './nics.ts';
import { firstOf, firstReported, type ReportedValue, type LabelReader, labelReaderOf } from './reported-labels.ts';

/** What one node's labels, devices and DRA attributes say, each fact by the most trusted that states it. */
export interface NodeReading extends NicReading {
  readonly node: NodeFacts;
  readonly labelOf: LabelReader;
  readonly nvlinkDomain?: ReportedValue;
  readonly nvlinkSubDomain?: ReportedValue;
  readonly gpuType?: ReportedValue;
  /** An island that an administrator named. */
  readonly declaredIsland?: ReportedValue;
  /** The whole NIC fabric that the node is below. */
  readonly root?: ReportedValue;
  readonly switches?: SwitchReading;
  /** Zone and region, near to far. */
  readonly places: readonly (ReportedValue | undefined)[];
}

/** What the labels of one dialect say about a node's switches. */
export interface SwitchReading {
  readonly dialect: SwitchDialect;
  /** One for each tier of the dialect; undefined where the node does not say. */
  readonly tiers: readonly (ReportedValue | undefined)[];
}

/** Facts are never changed, and the same node is read for each decision anew. */
const READ = new WeakMap<NodeFacts, NodeReading>();

function readNode(node: NodeFacts): NodeReading {
  const known = READ.get(node);
  if (known !== undefined) return known;
  const reading = readAnew(node);
  READ.set(node, reading);
  return reading;
}

function readAnew(node: NodeFacts): NodeReading {
  const labelOf = labelReaderOf(node);
  const switches = readSwitches(labelOf);
  const nics = readNics(node, labelOf);
  return {
    node,
    labelOf,
    ...defined('nvlinkDomain', firstReported(labelOf, NVLINK_DOMAIN_KEYS)),
    ...defined('nvlinkSubDomain', firstReported(labelOf, NVLINK_SUB_DOMAIN_KEYS)),
    ...defined('gpuType', firstReported(labelOf, GPU_TYPE_KEYS)),
    ...defined('declaredIsland', firstReported(labelOf, [NODE_LABELS.nicIsland])),
    ...defined('root', rootOf(labelOf, switches, nics)),
    ...defined('switches', switches),
    places: PLACE_LABELS.map((key) => labelOf(key)),
    ...nics,
  };
}

/**
 * The border of the NIC network that a node is on. For EFA it is the zone, whatever program labels the switches: topograph's third tier is then a layer
 * of AWS, which says how near nodes are.
 */
function rootOf(
  labelOf: LabelReader,
  switches: SwitchReading | undefined,
  { nicType }: NicReading,
): ReportedValue | undefined {
  const isEfa = switches !== undefined && nicType?.value.toLowerCase() === 'efa';
  const zone = isEfa || switches?.dialect.border === 'zone' ? labelOf(ZONE_LABEL) : undefined;
  const named = firstOf(SWITCH_DIALECTS, (dialect) => firstReported(labelOf, dialect.roots));
  return isEfa ? (zone ?? named) : (named ?? zone);
}

function readSwitches(labelOf: LabelReader): SwitchReading | undefined {
  return firstOf(SWITCH_DIALECTS, (dialect) => switchesIn(dialect, labelOf));
}

function switchesIn(dialect: SwitchDialect, labelOf: LabelReader): SwitchReading | undefined {
  const tiers = dialect.tiers.map((keys) => firstReported(labelOf, keys));
  return tiers.some((tier) => tier !== undefined) ? { dialect, tiers } : undefined;
}

function defined<K extends string, V>(name: K, value: V | undefined): { readonly [key in K]?: V } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [key in K]: V });
}

/** Reads nodes whose readings are wanted later. A caller that reads them in parts can let other work come between. */
export function readNodes(nodes: readonly NodeFacts[]): void {
  for (const node of nodes) readNode(node);
}

/** Of nodes with GPUs, sorted by name; of two nodes of one name the later one counts. */
export function readingsOf(nodes: readonly NodeFacts[]): readonly NodeReading[] {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  return [...byName.values()]
    .filter((node) => Number.isSafeInteger(node.gpuCapacity) && node.gpuCapacity > 0)
    .sort((left, right) => (left.name < right.name ? -1 : 1))
    .map(readNode);
}
