import {
  type AcrossIslands,
  assumedReachSentence,
  assumedTraffic,
  cheaperPods,
  type CrossingBytes,
  crossingBytes,
  type FabricCapacity,
  type FabricNode,
  type FabricProblem,
  groupReach,
  type GroupReach,
  leastWeightedBytes,
  type LayoutTraffic,
  type OtherPods,
  placeGang,
  type StageGpus,
  trafficOf,
  weightedBytes,
} from '@coxswain/fabric';
import { layoutTraffic, placedCluster, placedClusterOfParts } from '@coxswain/job-planning';
import { formatLayout, type ParallelLayout, worldSize } from '@coxswain/layout';
import { type AskedLayout, type PlanRequest, predict } from '@coxswain/planner';

type GangRequest = Parameters<typeof placeGang>[0];

/** A gang to be placed, and what is known of its model. */
export interface PlaceQuestion {
  readonly layout: ParallelLayout;
  readonly gpusPerNode?: number;
  readonly acrossIslands: AcrossIslands;
  readonly capacity: FabricCapacity;
  /** Of what was read: GPUs and names that count for nothing. */
  readonly problems?: readonly FabricProblem[];
  /** Absent: GPUs of one type. */
  readonly stageGpus?: readonly StageGpus[];
  /** Absent: bytes of a usual model are assumed, and no time is predicted. */
  readonly model?: { readonly request: PlanRequest; readonly asked: AskedLayout; readonly namesGpu: boolean };
}

/** What `coxswain place --json` prints. */
export interface PlaceAnswer {
  readonly placed: boolean;
  /** Why it is not placed, and what to change. */
  readonly refusal?: { readonly kind: 'waiting' | 'unsatisfiable'; readonly message: string };
  /** Its degrees, such as `tp8 x dp4 x pp2`. */
  readonly layout: string;
  readonly gpus: number;
  readonly milliseconds: number;
  readonly traffic: LayoutTraffic['source'];
  readonly placement?: Placed;
  /** Facts of nodes and pods that were ignored, and why; absent if there are none. */
  readonly problems?: readonly FabricProblem[];
}

/** A placement of the gang, and what its traffic costs there. */
export interface Placed {
  readonly ranksPerPod: number;
  /** GPU: index among those of the pod, as its ranks take them. */
  readonly ranks: readonly { readonly rank: number; readonly node: string; readonly gpu: number }[];
  /** Bytes of a step over each boundary; whatever crosses one crosses all nearer ones. */
  readonly crossingBytes: CrossingBytes;
  /** In bytes between GPUs of a node: each boundary at what crossing it costs. */
  readonly weightedBytes: number;
  /** The least that any placement on what is free could have; none need reach it. */
  readonly lowerBoundWeightedBytes: number;
  readonly groups: readonly GroupReach[];
  /** That no label says whether the nodes reach each other; absent where one does. */
  readonly assumedReach?: string;
  /** Smaller equal pods, which would cost less here; absent where none were found. */
  readonly cheaperPods?: OtherPods;
  readonly step?: StepHere;
}

/** Step time that the planner predicts for this placement, in seconds. */
export interface StepHere {
  readonly stepTimeS: number;
  /** What the planner took the network for. */
  readonly network: { readonly scaleUpDomainGpus?: number; readonly scaleOutGbPerS?: number };
  readonly leftOut: readonly string[];
}

/** Where the gang goes, and what that costs. Throws what the planner refuses. `now` is read before and after the search alone. */
export function placeAnswer(question: PlaceQuestion, now: () => number): PlaceAnswer {
  const { layout, capacity, model, problems = [] } = question;
  const found = problems.length === 0 ? {} : { problems };
  const gang = gangOf(question);
  const startedMs = now();
  const outcome = placeGang(gang, capacity);
  const answer = {
    layout: formatLayout(layout),
    gpus: worldSize(layout),
    milliseconds: now() - startedMs,
    traffic: model === undefined ? 'assumed' : 'planned',
  } as const;
  if (outcome.kind !== 'placed') {
    return { placed: false, refusal: { kind: outcome.kind, message: inOptions(outcome.message) }, ...answer, ...found };
  }
  return { placed: true, ...answer, placement: placed(question, gang, outcome), ...found };
}

function gangOf({ layout, acrossIslands, gpusPerNode, stageGpus, model }: PlaceQuestion): GangRequest {
  return {
    layout,
    traffic: () => (model === undefined ? assumedTraffic(layout) : layoutTraffic(model.request, model.asked)),
    acrossIslands,
    ...(gpusPerNode === undefined ? {} : { gpusPerNode }),
    ...(stageGpus === undefined ? {} : { stageGpus }),
  };
}

/** What is a field of a job there is an option here. */
export function inOptions(message: string): string {
  return message
    .replaceAll('resources.gpusPerNode', '--gpus-per-node')
    .replaceAll(/(re)?(make|create) the job with /g, 'place it with ')
    .replaceAll('resources.acrossIslands Pipeline', '--across-islands pipeline')
    .replaceAll('resources.acrossIslands Sockets', '--across-islands any')
    .replaceAll(', or Sockets at the speed', ', or any at the speed');
}

function placed(
  question: PlaceQuestion,
  gang: GangRequest,
  { nodes, ranksPerPod }: { readonly nodes: readonly string[]; readonly ranksPerPod: number },
): Placed {
  const traffic = trafficOf(gang);
  const { layout, capacity, model, stageGpus, acrossIslands } = question;
  const { fabric } = capacity;
  const ranks = Array.from({ length: worldSize(layout) }, (_, rank) => ({
    rank,
    node: nodes[Math.floor(rank / ranksPerPod)] ?? '',
    gpu: rank % ranksPerPod,
  }));
  const nodeOfRank = ranks.map(({ node }) => node);
  const crossing = crossingBytes(traffic, nodeOfRank, fabric);
  const bytes = weightedBytes(crossing);
  const other = cheaperPods(gang, capacity, { ranksPerPod, nodes });
  const byName = new Map(fabric.nodes.map((node) => [node.name, node]));
  const members = nodes.flatMap((name) => byName.get(name) ?? []);
  const assumedReach = acrossIslands === 'anyGroup' ? undefined : assumedReachSentence(members);
  const step =
    model === undefined ? undefined : stepHere(model, members, { ranksPerPod, stageGpus, layout, acrossIslands });
  return {
    ranksPerPod,
    ranks,
    crossingBytes: crossing,
    weightedBytes: bytes,
    lowerBoundWeightedBytes: leastWeightedBytes(gang, ranksPerPod, capacity, nodes),
    groups: groupReach(traffic, nodeOfRank, fabric),
    ...(assumedReach === undefined ? {} : { assumedReach }),
    ...(other === undefined ? {} : { cheaperPods: other }),
    ...(step === undefined ? {} : { step }),
  };
}

interface Laid {
  readonly layout: ParallelLayout;
  readonly ranksPerPod: number;
  readonly stageGpus: readonly StageGpus[] | undefined;
  readonly acrossIslands: AcrossIslands;
}

/** The planner's prediction for the network between these nodes; undefined if their GPU type is unknown. */
function stepHere(
  { request, asked, namesGpu }: NonNullable<PlaceQuestion['model']>,
  nodes: readonly FabricNode[],
  laid: Laid,
): StepHere | undefined {
  const isOfOne = namesGpu && laid.stageGpus === undefined;
  const named = isOfOne ? nodes.map((node) => ({ ...node, gpuType: request.cluster.gpu })) : nodes;
  const here = clusterHere(named, laid);
  if (here === undefined) return undefined;
  const { scaleUpDomainGpus, scaleOutGbPerS } = here.cluster;
  return {
    stepTimeS: predict({ ...request, cluster: here.cluster }, asked).stepTimeS,
    network: {
      ...(scaleUpDomainGpus === undefined ? {} : { scaleUpDomainGpus }),
      ...(scaleOutGbPerS === undefined ? {} : { scaleOutGbPerS }),
    },
    leftOut: here.leftOut,
  };
}

function clusterHere(
  nodes: readonly FabricNode[],
  { layout, ranksPerPod, stageGpus, acrossIslands }: Laid,
): ReturnType<typeof placedCluster> {
  const gpus = worldSize(layout);
  if (stageGpus === undefined) return placedCluster(nodes, { gpus, ranksPerPod, acrossIslands });
  const perStage = gpus / layout.pipelineParallelDegree;
  let first = 0;
  const parts = stageGpus.map(({ stages }) => {
    const ofPart = stages * perStage;
    const pods = ofPart / ranksPerPod;
    first += pods;
    return { gpus: ofPart, nodes: nodes.slice(first - pods, first) };
  });
  return placedClusterOfParts(parts, { ranksPerPod, acrossIslands });
}
