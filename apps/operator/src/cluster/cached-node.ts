import { GPU_RESOURCE, NODE_LABELS } from '@coxswain/api-types';
import { deviceCount, FABRIC_LABELS, isDevice, type NodeFacts, type Taint } from '@coxswain/fabric';
import type { KubeObject } from '@coxswain/kube';

/** What the operator keeps of a Node. */
export interface CachedNode extends KubeObject {
  readonly facts: NodeFacts;
  /** Which boot of which Node object this is, as far as its kubelet said; another one means another start of the machine. */
  readonly bootId: string;
}

/**
 * The part of a Node that is kept; never throws, whatever is not of the expected shape counts as absent. Its texts are safe as they are: of
 * names and labels the API server takes only ASCII letters, digits, dots, dashes, underscores and slashes.
 */
export function toCachedNode(node: KubeObject): CachedNode {
  const { spec, status } = node as { spec?: Fields; status?: Fields };
  const { name, uid, resourceVersion, labels } = node.metadata;
  const conditions = array(status?.['conditions']);
  const allocatable = (status?.['allocatable'] as Fields | undefined) ?? {};
  const isCordoned = spec?.['unschedulable'] === true;
  const taints = array(spec?.['taints']).filter(repels).map(toTaint);
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    bootId: bootIdOf(uid, (status?.['nodeInfo'] as Fields | undefined)?.['bootID']),
    facts: {
      name,
      labels: bounded(strings(labels)),
      gpuCapacity: deviceCount(allocatable[GPU_RESOURCE]),
      schedulable: !isCordoned && taints.length === 0,
      ...(isCordoned ? { isCordoned } : {}),
      ...(taints.length === 0 ? {} : { taints }),
      ...devicesOf(allocatable),
      ready: conditions.some((condition) => condition['type'] === 'Ready' && condition['status'] === 'True'),
    },
  };
}

/** A kubelet that reports no boot still has a Node of its own. */
function bootIdOf(uid: string | undefined, boot: unknown): string {
  return (typeof boot === 'string' && boot !== '' ? boot : (uid ?? '')).slice(0, 128);
}

type Fields = Readonly<Record<string, unknown>>;

/** A gang's pods tolerate the taint by which GPU nodes keep other pods away. PreferNoSchedule repels nobody. */
function repels(taint: Fields): boolean {
  return taint['effect'] !== 'PreferNoSchedule' && !(taint['key'] === GPU_RESOURCE && taint['effect'] === 'NoSchedule');
}

function toTaint({ key, value, effect }: Fields): Taint {
  const text = (one: unknown): string => (typeof one === 'string' ? one : '');
  return { key: text(key), value: text(value), effect: text(effect) };
}

/** Beside GPUs. */
function devicesOf(allocatable: Fields): Pick<NodeFacts, 'devices'> {
  const names = Object.keys(allocatable).filter((name) => isDevice(name) && name !== GPU_RESOURCE);
  const devices = names.map((name) => [name, deviceCount(allocatable[name])] as const).filter(([, count]) => count > 0);
  return devices.length === 0 ? {} : { devices: Object.fromEntries(devices) };
}

function array(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'object' && one !== null) : [];
}

function strings(value: unknown): Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(Object.entries(value).filter(([, one]) => typeof one === 'string')) as Record<
    string,
    string
  >;
}

/** Feature discovery writes some 150; a kubelet may write as many as its Node object holds. At most 200 kB are kept, 20 kB as a rule. */
const MOST_LABELS = 512;
const OF_FABRIC: ReadonlySet<string> = new Set([
  ...FABRIC_LABELS.switchDialects.flatMap(({ tiers }) => tiers.flat()),
  ...FABRIC_LABELS.placeLabels,
  ...FABRIC_LABELS.nvlinkDomainKeys,
  ...FABRIC_LABELS.nvlinkSubDomainKeys,
  ...FABRIC_LABELS.gpuTypeKeys,
  ...FABRIC_LABELS.nicTypeKeys,
  ...Object.values(NODE_LABELS),
]);

/** Those that say where the node sits before all others, for what nobody reads may go. */
function bounded(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const keys = Object.keys(labels);
  if (keys.length <= MOST_LABELS) return labels;
  const kept = [...keys.filter((key) => OF_FABRIC.has(key)), ...keys.filter((key) => !OF_FABRIC.has(key))];
  return Object.fromEntries(kept.slice(0, MOST_LABELS).map((key) => [key, labels[key] ?? '']));
}

/** A node says that it lives every few seconds; only what decisions look at is a change. */
export function sameFacts(one: CachedNode, other: CachedNode): boolean {
  return JSON.stringify(one.facts) === JSON.stringify(other.facts);
}
