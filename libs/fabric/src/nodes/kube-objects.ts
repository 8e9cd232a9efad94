import { GPU_RESOURCE } from '@coxswain/api-types';
import { deviceCount, isDevice, wholeDevices } from './device-count.ts';
import type { NodeFacts, Taint } from './fabric.ts';
import { withoutPublished } from './published-labels.ts';

/** An object of the API server, with no field validated. */
type Fields = Readonly<Record<string, unknown>>;

/**
 * What a v1 Node says; never throws, whatever is not of the expected shape counts as absent. Read from an API server its texts are safe as they are: of
 * names and labels that takes only ASCII letters, digits, dots, dashes, underscores and slashes. What we published ourselves is left out.
 */
export function factsOfNode(node: unknown): NodeFacts {
  const metadata = record(record(node)['metadata']);
  const spec = record(record(node)['spec']);
  const status = record(record(node)['status']);
  const allocatable = record(status['allocatable']);
  const isCordoned = spec['unschedulable'] === true;
  const taints = list(spec['taints']).filter(repels).map(toTaint);
  return {
    name: text(metadata['name']),
    labels: withoutPublished(strings(metadata['labels'])),
    ...gpusOfNode(allocatable[GPU_RESOURCE]),
    schedulable: !isCordoned && taints.length === 0,
    ...(isCordoned ? { isCordoned } : {}),
    ...(taints.length === 0 ? {} : { taints }),
    ...devicesOf(allocatable),
    ready: list(status['conditions']).some(({ type, status: holds }) => type === 'Ready' && holds === 'True'),
  };
}

/**
 * No machine has as many; 8 GPUs in 7 parts each (MIG), or shared by time among a hundred pods, are fewer. What says more is mistaken, and would draw gangs to itself.
 */
export const MAX_GPUS_PER_NODE = 1_024;

function gpusOfNode(quantity: unknown): Pick<NodeFacts, 'gpuCapacity' | 'unreadGpus'> {
  const gpus = isAbsent(quantity) ? 0 : wholeDevices(quantity);
  if (gpus !== undefined && gpus <= MAX_GPUS_PER_NODE) return { gpuCapacity: gpus };
  return { gpuCapacity: 0, unreadGpus: shown(quantity) };
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

const MOST_SHOWN = 40;

/** As JSON, short and of plain characters, because a file can hold anything. */
function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value.slice(0, MOST_SHOWN)) : JSON.stringify(value);
  return text.slice(0, MOST_SHOWN + 2).replaceAll(/[^\x20-\x7e]/g, '?');
}

/** A gang's pods tolerate the taint by which GPU nodes keep other pods away. PreferNoSchedule repels nobody. */
function repels(taint: Fields): boolean {
  return taint['effect'] !== 'PreferNoSchedule' && !(taint['key'] === GPU_RESOURCE && taint['effect'] === 'NoSchedule');
}

function toTaint({ key, value, effect }: Fields): Taint {
  return { key: text(key), value: text(value), effect: text(effect) };
}

/** Beside GPUs. */
function devicesOf(allocatable: Fields): Pick<NodeFacts, 'devices'> {
  const names = Object.keys(allocatable).filter((name) => isDevice(name) && name !== GPU_RESOURCE);
  const devices = names.map((name) => [name, deviceCount(allocatable[name])] as const).filter(([, count]) => count > 0);
  return devices.length === 0 ? {} : { devices: Object.fromEntries(devices) };
}

/** GPUs that a v1 Pod takes on its node. */
export interface PodUse {
  /** Absent while it is bound to none. */
  readonly nodeName?: string;
  readonly gpus: number;
  /** What one of its containers asks for, where that is no number of GPUs: it counts as taking none. */
  readonly unreadGpus?: string;
  /** Its containers have ended for good, and their GPUs are free again. */
  readonly isOver: boolean;
}

/** What a v1 Pod takes; never throws. */
export function useOfPod(pod: unknown): PodUse {
  const spec = record(record(pod)['spec']);
  const nodeName = text(spec['nodeName']);
  const phase = record(record(pod)['status'])['phase'];
  return {
    ...(nodeName === '' ? {} : { nodeName }),
    ...gpusOf(spec),
    isOver: phase === 'Succeeded' || phase === 'Failed',
  };
}

/** `namespace/name` */
export function nameOfPod(pod: unknown): string {
  const { namespace, name } = record(record(pod)['metadata']);
  return [text(namespace), text(name)].filter((part) => part !== '').join('/');
}

/** Init containers run before the others, one after the other: the larger of both needs is what the scheduler reserves. */
function gpusOf(spec: Fields): Pick<PodUse, 'gpus' | 'unreadGpus'> {
  const needs = (containers: unknown): readonly unknown[] =>
    list(containers).map((container) => {
      const { requests, limits } = record(container['resources']);
      return record(requests)[GPU_RESOURCE] ?? record(limits)[GPU_RESOURCE];
    });
  const [all, first] = [needs(spec['containers']), needs(spec['initContainers'])];
  const together = all.reduce<number>((sum, quantity) => sum + deviceCount(quantity), 0);
  const unread = [...all, ...first].find((quantity) => !isAbsent(quantity) && wholeDevices(quantity) === undefined);
  return {
    gpus: Math.max(together, ...first.map(deviceCount)),
    ...(unread === undefined ? {} : { unreadGpus: shown(unread) }),
  };
}

/** GPUs that pods take, by node. */
export function usedGpusOf(pods: readonly unknown[]): ReadonlyMap<string, number> {
  const used = new Map<string, number>();
  for (const { nodeName, gpus, isOver } of pods.map(useOfPod)) {
    if (nodeName !== undefined && !isOver && gpus > 0) used.set(nodeName, (used.get(nodeName) ?? 0) + gpus);
  }
  return used;
}

function record(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function list(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(record) : [];
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function strings(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(record(value)).filter(([, one]) => typeof one === 'string')) as Record<
    string,
    string
  >;
}
