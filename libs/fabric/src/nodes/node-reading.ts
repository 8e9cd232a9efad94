import { NODE_LABELS } from '@coxswain/api-types';
import {
  GPU_TYPE_KEYS,
  NVLINK_DOMAIN_KEYS,
  NVLINK_SUB_DOMAIN_KEYS,
  PLACE_LABELS,
  SWITCH_DIALECTS,
  type SwitchDialect,
} from './dialects.ts';
import type { NodeFacts } from './fabric.ts';
import { type NicReading, readNics } from './nics.ts';
import { firstOf, firstSaid, type Said, type Speaker, speakerOf } from './reported-labels.ts';

/** What one node's labels, devices and DRA attributes say, each fact by the most trusted that states it. */
export interface NodeReading extends NicReading {
  readonly node: NodeFacts;
  readonly say: Speaker;
  readonly nvlinkDomain?: Said;
  readonly nvlinkSubDomain?: Said;
  readonly gpuType?: Said;
  /** An island that an administrator named. */
  readonly declaredIsland?: Said;
  /** The whole NIC fabric that the node is below. */
  readonly root?: Said;
  readonly switches?: SwitchReading;
  /** Zone and region, near to far. */
  readonly places: readonly (Said | undefined)[];
}

export interface SwitchReading {
  readonly dialect: SwitchDialect;
  /** One for each tier of the dialect; undefined where the node does not say. */
  readonly tiers: readonly (Said | undefined)[];
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
  const say = speakerOf(node);
  return {
    node,
    say,
    ...defined('nvlinkDomain', firstSaid(say, NVLINK_DOMAIN_KEYS)),
    ...defined('nvlinkSubDomain', firstSaid(say, NVLINK_SUB_DOMAIN_KEYS)),
    ...defined('gpuType', firstSaid(say, GPU_TYPE_KEYS)),
    ...defined('declaredIsland', firstSaid(say, [NODE_LABELS.nicIsland])),
    ...defined(
      'root',
      firstOf(SWITCH_DIALECTS, (dialect) => firstSaid(say, dialect.roots)),
    ),
    ...defined('switches', readSwitches(say)),
    places: PLACE_LABELS.map((key) => say(key)),
    ...readNics(node, say),
  };
}

function readSwitches(say: Speaker): SwitchReading | undefined {
  return firstOf(SWITCH_DIALECTS, (dialect) => switchesIn(dialect, say));
}

function switchesIn(dialect: SwitchDialect, say: Speaker): SwitchReading | undefined {
  const tiers = dialect.tiers.map((keys) => firstSaid(say, keys));
  return tiers.some((tier) => tier !== undefined) ? { dialect, tiers } : undefined;
}

function defined<K extends string, V>(name: K, value: V | undefined): { readonly [key in K]?: V } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [key in K]: V });
}

/** Of nodes with GPUs, sorted by name; of two nodes of one name the later one counts. */
export function readingsOf(nodes: readonly NodeFacts[]): readonly NodeReading[] {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  return [...byName.values()]
    .filter((node) => Number.isSafeInteger(node.gpuCapacity) && node.gpuCapacity > 0)
    .sort((left, right) => (left.name < right.name ? -1 : 1))
    .map(readNode);
}
