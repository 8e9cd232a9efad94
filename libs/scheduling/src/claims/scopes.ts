/** Where a gang may be placed, and how much of what it needs each running gang would leave there. */
import type { FabricNode } from '@coxswain/fabric';
import { worldSize } from '@coxswain/layout';
import type { GangRequest } from '../gang-request.ts';
import type { GpusByNode } from '../promises/node-promise.ts';
import type { RunningGang } from './claim.ts';
import { priceOf } from './price.ts';

/** A gang with its price and, at most, the part of the need that it leaves. */
export interface PricedGang {
  readonly gang: RunningGang;
  readonly price: number;
  readonly leaves: number;
}

/** A part of the fabric that has to hold the whole gang. */
export interface Scope {
  /** What is missing there: nodes with room for a pod, or GPUs if pods may have any size. */
  readonly need: number;
  /** Those with something to leave, the lowest price for it first. */
  readonly gangs: readonly PricedGang[];
}

/** Each island, or the whole fabric if the gang may cross islands. */
export function scopesOf(
  request: GangRequest,
  nodes: readonly FabricNode[],
  { used, gangs }: { readonly used: GpusByNode; readonly gangs: readonly RunningGang[] },
): readonly Scope[] {
  const { acrossIslands = 'never', stageGpus } = request;
  const usable = nodes.filter((node) => node.usable);
  const staysInIsland = acrossIslands === 'never' && stageGpus === undefined;
  const parts = Map.groupBy(usable, ({ island }) => (staysInIsland ? island : ''));
  return [...parts.values()].map((part) => scopeOf(request, part, { used, gangs }));
}

function scopeOf(
  request: GangRequest,
  nodes: readonly FabricNode[],
  { used, gangs }: { readonly used: GpusByNode; readonly gangs: readonly RunningGang[] },
): Scope {
  const { ranks, perPod, pods } = shapeOf(request);
  const free = new Map(nodes.map(({ name, gpus }) => [name, Math.max(0, gpus - (used.get(name) ?? 0))]));
  const sizes = new Map(nodes.map(({ name, gpus }) => [name, gpus]));
  const has = perPod === undefined ? sumOf(free.values()) : countOf(free.values(), (gpus) => gpus >= perPod);
  const leavesOn = (name: string, gpus: number): number => {
    const size = sizes.get(name);
    if (size === undefined) return 0;
    return perPod === undefined ? gpus : Number(size >= perPod && (free.get(name) ?? 0) < perPod);
  };
  const priced = gangs.flatMap((gang) => {
    const leaves = sumOf([...gang.gpus].map(([name, gpus]) => leavesOn(name, gpus)));
    return leaves === 0 ? [] : [{ gang, leaves, price: priceOf(gang) }];
  });
  return {
    need: (perPod === undefined ? ranks : pods) - has,
    gangs: priced.toSorted((one, other) => one.price / one.leaves - other.price / other.leaves),
  };
}

/** Whether enough GPUs are free by count, anywhere in the fabric. */
export function isEnough(request: GangRequest, nodes: readonly FabricNode[], used: GpusByNode): boolean {
  const { ranks, perPod, pods } = shapeOf(request);
  let gpus = 0;
  let places = 0;
  for (const node of nodes) {
    if (!node.usable) continue;
    const free = Math.max(0, node.gpus - (used.get(node.name) ?? 0));
    gpus += free;
    if (perPod !== undefined && free >= perPod) places += 1;
  }
  return gpus >= ranks && (perPod === undefined || places >= pods);
}

function shapeOf({ layout, gpusPerNode }: GangRequest): { ranks: number; perPod: number | undefined; pods: number } {
  const ranks = worldSize(layout);
  if (gpusPerNode === undefined) return { ranks, perPod: undefined, pods: 0 };
  const perPod = Math.min(gpusPerNode, ranks);
  return { ranks, perPod, pods: Math.floor(ranks / perPod) };
}

function sumOf(numbers: Iterable<number>): number {
  let sum = 0;
  for (const number of numbers) sum += number;
  return sum;
}

function countOf(numbers: Iterable<number>, holds: (number: number) => boolean): number {
  let count = 0;
  for (const number of numbers) count += Number(holds(number));
  return count;
}

/** The used GPUs without those of these gangs. */
export function usedWithout(used: GpusByNode, gangs: Iterable<RunningGang>): GpusByNode {
  const left = new Map(used);
  for (const { gpus } of gangs)
    for (const [name, count] of gpus) left.set(name, Math.max(0, (left.get(name) ?? 0) - count));
  return left;
}
