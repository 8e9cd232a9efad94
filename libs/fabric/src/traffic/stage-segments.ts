/** Where does each part of a pipeline go whose stages are meant for several types of GPU? Each part is a gang of its own, on the nodes of its type. */
import { worldSize, type ParallelLayout } from '@coxswain/layout';
import { trafficOf } from './assumed-traffic.ts';
import type { FabricCapacity } from '../nodes/fabric.ts';
import type { GangRequest } from './gang-shape.ts';
import type { StageGpus } from './stage-gpus.ts';
import type { LayoutTraffic } from './traffic.ts';

/** Consecutive stages as a gang that is placed on what there is of one type of GPU. */
export interface StageSegment extends StageGpus {
  /** Counted from 1. */
  readonly firstStage: number;
  readonly firstRank: number;
  readonly request: GangRequest;
  readonly capacity: FabricCapacity;
}

/** A request whose pipeline stages need different GPU types. */
export type SegmentedRequest = GangRequest & { readonly stageGpus: readonly StageGpus[] };

/** The parts in the order of their stages. Ranks of a stage are consecutive: a plan with stages per GPU type has the pipeline as its slowest dimension. */
export function stageSegments(request: SegmentedRequest, capacity: FabricCapacity): readonly StageSegment[] {
  const { stageGpus, layout, traffic, ...rest } = request;
  const ranksOfStage = worldSize(layout) / layout.pipelineParallelDegree;
  let before = 0;
  return stageGpus.map(({ stages, gpuType }) => {
    const firstStage = before + 1;
    const firstRank = before * ranksOfStage;
    before += stages;
    const part = {
      ...rest,
      layout: withStages(layout, stages),
      ...(traffic === undefined
        ? {}
        : { traffic: () => trafficWithin(trafficOf({ layout, traffic }), firstRank, stages * ranksOfStage) }),
    };
    const nodes = capacity.fabric.nodes.filter((node) => node.gpuType === gpuType);
    const leftOut = `Nodes with other GPUs than ${gpuType} do not suit these stages.`;
    return {
      stages,
      gpuType,
      firstStage,
      firstRank,
      request: part,
      capacity: { ...capacity, fabric: { ...capacity.fabric, nodes }, leftOut: capacity.leftOut ?? leftOut },
    };
  });
}

/** Ranks per pod with which every part begins and ends at the boundary of a pod, the most first. */
export function ranksPerPodOfSegments(
  segments: readonly StageSegment[],
  { gpusPerNode }: GangRequest,
  most: number,
): readonly number[] {
  const ranks = segments.map(({ request }) => worldSize(request.layout));
  // A pod of each part has to find a node of its type; a part that has no nodes at all waits, whatever its pods are.
  const sizes = segments.flatMap(({ capacity: { fabric } }) =>
    fabric.nodes.length === 0 ? [] : [fabric.nodes.reduce((size, { gpus }) => Math.max(size, gpus), 1)],
  );
  const largest = Math.min(most, ...ranks, ...(sizes.length === 0 ? [1] : sizes));
  const choices =
    gpusPerNode === undefined ? Array.from({ length: largest }, (_, index) => largest - index) : [gpusPerNode];
  return choices.filter((size) => ranks.every((count) => count % size === 0));
}

/** `Stages 1 to 5 are planned for H100 GPUs`, of parts for one type of GPU. */
export function meantFor(alike: readonly StageSegment[]): string {
  const numbers = alike.map(({ firstStage, stages }) =>
    stages === 1 ? `${firstStage}` : `${firstStage} to ${firstStage + stages - 1}`,
  );
  const listed = numbers.join(', ').replace(/, ([^,]*)$/, ' and $1');
  const stages = alike.length === 1 && alike[0]?.stages === 1 ? `Stage ${listed} is` : `Stages ${listed} are`;
  return `${stages} planned for ${alike[0]?.gpuType ?? 'unknown'} GPUs`;
}

/** Placement reads degrees; only the engine needs to know how layers are split into stages. */
export function withStages({ pipeline: _cut, ...layout }: ParallelLayout, stages: number): ParallelLayout {
  return { ...layout, pipelineParallelDegree: stages };
}

/** Without the rings and all-to-alls that have members in several parts: within one of them they are no such groups. */
export function withoutCutRings(
  { byKind, ...rest }: LayoutTraffic,
  { layout, stageGpus }: SegmentedRequest,
): LayoutTraffic {
  const ranksOfStage = worldSize(layout) / layout.pipelineParallelDegree;
  const partOfStage = stageGpus.flatMap(({ stages }, part) => Array.from({ length: stages }, () => part));
  const partOf = (rank: number): number => partOfStage[Math.floor(rank / ranksOfStage)] ?? 0;
  const isWhole = (group: readonly number[]): boolean => new Set(group.map(partOf)).size === 1;
  return {
    ...rest,
    byKind: byKind.map((kind) => (kind.pattern === 'chain' ? kind : { ...kind, groups: kind.groups.filter(isWhole) })),
  };
}

/** What ranks of the part send each other; the hand-over to the next part crosses whatever lies between, wherever both are. */
function trafficWithin({ byKind, ...rest }: LayoutTraffic, firstRank: number, ranks: number): LayoutTraffic {
  const isInside = (rank: number): boolean => rank >= firstRank && rank < firstRank + ranks;
  return {
    ...rest,
    byKind: byKind.map(({ groups, ...kind }) => ({
      ...kind,
      groups: groups
        .map((group) => group.filter(isInside).map((rank) => rank - firstRank))
        .filter(({ length }) => length > 1),
    })),
  };
}
