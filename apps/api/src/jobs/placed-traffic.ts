/** What does the placement of a job send over which boundary in a step? */
import {
  type PlacementSpec,
  ranksOfPod,
  ranksProblem,
  type RankTraffic,
  specOfEpoch,
  type TrainingJobSpec,
} from '@coxswain/api-types';
import { assumedTraffic, crossingBytes, type Fabric, type FabricNode } from '@coxswain/fabric';
import { jobTraffic } from '@coxswain/job-planning';
import { createHash } from 'node:crypto';

/** A job, and where its newest gang is. */
export interface PlacedJob {
  readonly uid: string;
  readonly spec: TrainingJobSpec;
  readonly placement: PlacementSpec;
}

/** Takes tenths of a second for 16,384 ranks. */
function trafficOf({ spec, placement }: PlacedJob, fabric: Fabric): RankTraffic {
  const nodeOfRank: string[] = [];
  for (const [podIndex, node] of placement.nodes.entries())
    for (const rank of ranksOfPod(placement, podIndex)) nodeOfRank[rank] = node;
  const traffic = jobTraffic(specOfEpoch(spec, placement)) ?? assumedTraffic(placement.layout);
  return { source: traffic.source, ...crossingBytes(traffic, nodeOfRank, fabric) };
}

/** Pages of as many jobs are looked at again and again. */
const MOST_JOBS = 64;

interface Known {
  /** Of placement, spec and the place of each node: the same, the same bytes. */
  readonly hash: string;
  readonly traffic: RankTraffic;
}

/** Bytes of the jobs that are looked at, counted again only where something else is placed, or said of its nodes. */
export class PlacedTraffic {
  /** Least lately asked first. */
  readonly #known = new Map<string, Known>();

  /** Null where the fabric lacks a node of the gang, or a rank has no place. */
  of(job: PlacedJob, fabric: Fabric | undefined): RankTraffic | null {
    const nodes = membersOf(job.placement, fabric);
    if (nodes === undefined || ranksProblem(job.placement) !== undefined) return null;
    const hash = hashOf(job, nodes);
    const before = this.#known.get(job.uid);
    const traffic = before?.hash === hash ? before.traffic : trafficOf(job, { nodes });
    this.#known.delete(job.uid);
    this.#known.set(job.uid, { hash, traffic });
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST_JOBS && oldest !== undefined) this.#known.delete(oldest);
    return traffic;
  }
}

/** Each node of the gang once, in the order of the fabric. */
function membersOf({ nodes }: PlacementSpec, fabric: Fabric | undefined): readonly FabricNode[] | undefined {
  const names = new Set(nodes);
  const members = fabric?.nodes.filter(({ name }) => names.has(name)) ?? [];
  return members.length === names.size ? members : undefined;
}

function hashOf({ spec, placement }: PlacedJob, nodes: readonly FabricNode[]): string {
  const places = nodes.map(({ name, nvlinkDomain, island, switches }) => [name, nvlinkDomain, island, switches]);
  const { model, training, engine } = spec;
  return createHash('sha256')
    .update(JSON.stringify([placement, model, training, engine, places]))
    .digest('base64');
}
