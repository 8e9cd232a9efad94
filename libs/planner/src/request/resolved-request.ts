/** What does a request mean? Its presets are looked up once, and everything that answers it reads what was found. */
import { DomainError } from '@coxswain/domain-error';
import type { ModelShape } from '@coxswain/layout';
import { BITS_PER_BYTE } from '@coxswain/units';
import { unknownConstantsOf } from '../calibration/with-profile.ts';
import type { ClusterProfile } from '../cluster-profile.ts';
import type { AllowedChoices, PlanCluster, PlanRequest } from '../contract.ts';
import type { ClusterFacts, RunFacts } from '../facts.ts';
import { GPU_PRESETS, modelOf, namedOf, type GpuPreset } from '../presets/index.ts';
import { choicesOfEngine, gradientBytesOf } from './engine-choices.ts';
import { speedByTensorOf } from './island-speed.ts';
import { precisionOf } from './gpu-formats.ts';
import { contradictionsOf } from './request-contradictions.ts';

export interface ResolvedRequest {
  /** What was asked. */
  readonly request: PlanRequest;
  readonly gpu: GpuPreset;
  /** Of each island that was asked for. */
  readonly islandGpus: readonly IslandGpu[];
  /** The run on all GPUs of the cluster. */
  readonly run: RunBase;
  /** What the caller allows and the engine can be told. */
  readonly allow: AllowedChoices;
}

/** What an island's own GPUs are, and how fast beside those of the cluster; absent: as fast. */
interface IslandGpu {
  readonly gpu: GpuPreset;
  readonly speedByTensor?: Readonly<Record<number, number>> | undefined;
}

/** Everything about a run but its layout. */
export type RunBase = Omit<RunFacts, 'candidate'>;

/** Stands for any engine where a request names none. */
export const UNNAMED_STACK = 'unnamed';

/**
 * @throws DomainError INVALID_REQUEST for a preset that does not exist, with the nearest names, and for words that contradict the model or the
 * GPUs, with one violation each.
 */
export function resolveRequest(asked: PlanRequest): ResolvedRequest {
  const request = withStackAsNamed(asked);
  const { cluster } = request;
  const gpu = namedOf(GPU_PRESETS, cluster.gpu, 'GPU', '/cluster/gpu');
  const model = modelShapeOf(request);
  const presets = (cluster.islands ?? []).map((island, index) =>
    island.gpu === undefined ? gpu : namedOf(GPU_PRESETS, island.gpu, 'GPU', `/cluster/islands/${index}/gpu`),
  );
  const contradictions = contradictionsOf(request, { model, gpu, islandGpus: presets });
  if (contradictions.length > 0) {
    const told = contradictions.map(({ pointer, detail }) => `${pointer}: ${detail}`);
    throw new DomainError('INVALID_REQUEST', told.join('; '), contradictions);
  }
  const run: RunBase = {
    model,
    cluster: clusterOf(cluster, { gpu, islandGpus: [] }, cluster.gpus),
    stack: request.stack ?? UNNAMED_STACK,
    precision: precisionOf(request),
    flashAttention: [gpu, ...presets].every(hasFlashAttention),
    gradientBytes: gradientBytesOf(request.stack),
    loraRank: 0,
    globalBatchSize: request.globalBatchSize,
    sequenceLength: request.sequenceLength,
  };
  const islandGpus = presets.map((preset) => ({ gpu: preset, speedByTensor: speedByTensorOf(run, preset) }));
  const allow = choicesOfEngine(request.stack, request.allow ?? {});
  const withSpeeds = { ...run, cluster: clusterOf(cluster, { gpu, islandGpus }, cluster.gpus) };
  return { request, gpu, islandGpus, run: withSpeeds, allow };
}

/** `TorchTitan` and `Megatron_LM core_v0.15` as engines and releases are named. */
function withStackAsNamed(request: PlanRequest): PlanRequest {
  if (request.stack === undefined) return request;
  const stack = request.stack.trim().toLowerCase();
  return { ...request, stack: stack.replace(/^\S+/, (engine) => engine.replaceAll('_', '-')) };
}

/** The same run on another number of GPUs: of several islands the first that hold so many. */
export function runOnGpus(resolved: ResolvedRequest, gpus: number): RunBase {
  const { request, run } = resolved;
  return gpus === run.cluster.gpus ? run : { ...run, cluster: clusterOf(request.cluster, resolved, gpus) };
}

function modelShapeOf(request: PlanRequest): ModelShape {
  if (request.modelShape !== undefined) return request.modelShape;
  return modelOf(request.model ?? '').model;
}

/** FlashAttention 2 runs on tensor cores of Ampere and later, and on AMD's matrix cores; Turing and what was before compute attention in parts. */
function hasFlashAttention({ silicon }: GpuPreset): boolean {
  return !['gp100', 'gv100', 'tu104'].includes(silicon);
}

/** NVLink that ends at the board of a node ends at a smaller part of it too; that of a rack does not. */
function usualDomainOf(
  { gpusPerNode, scaleUpDomainGpus }: Pick<GpuPreset, 'gpusPerNode' | 'scaleUpDomainGpus'>,
  wantedPerNode: number,
): number {
  return scaleUpDomainGpus <= gpusPerNode ? Math.min(scaleUpDomainGpus, wantedPerNode) : scaleUpDomainGpus;
}

type PlanIsland = NonNullable<PlanCluster['islands']>[number];

function usedIslands({ islands = [], stagesInOneIsland }: PlanCluster, gpus: number): readonly PlanIsland[] {
  return stagesInOneIsland === true ? islands : islandsWithin(islands, gpus);
}

/** What an island says of its network. */
function stated(island: PlanIsland | undefined): Pick<PlanIsland, 'scaleOutGbPerS' | 'nicKind'> {
  const { scaleOutGbPerS, nicKind } = island ?? {};
  return { ...(scaleOutGbPerS === undefined ? {} : { scaleOutGbPerS }), ...(nicKind === undefined ? {} : { nicKind }) };
}

function clusterOf(
  asked: PlanCluster,
  { gpu: preset, islandGpus }: Pick<ResolvedRequest, 'gpu' | 'islandGpus'>,
  gpus: number,
): ClusterFacts {
  const gpusPerNode = Math.min(gpus, asked.gpusPerNode ?? preset.gpusPerNode);
  const used = usedIslands(asked, gpus);
  // A lone island is the cluster.
  const network = used.length === 1 ? { ...asked, ...stated(used[0]) } : asked;
  const scaleOutGbPerS = network.scaleOutGbPerS ?? preset.nicGbps / BITS_PER_BYTE;
  const nicKind = network.nicKind ?? preset.nicKind;
  const facts: ClusterFacts = {
    gpu: preset,
    gpus,
    gpusPerNode,
    scaleUpDomainGpus: Math.min(gpus, asked.scaleUpDomainGpus ?? usualDomainOf(preset, gpusPerNode)),
    scaleOutGbPerS,
    nicKind,
    hostMemoryGibPerNode: (preset.hostMemoryGibPerNode * gpusPerNode) / preset.gpusPerNode,
    ...(asked.profile === undefined ? {} : { profile: knownProfile(asked.profile) }),
  };
  if (asked.islands === undefined) return facts;
  return {
    ...facts,
    islands: used.map((island, index) => {
      const { speedByTensor } = islandGpus[index] ?? {};
      return {
        gpus: island.gpus,
        scaleOutGbPerS: island.scaleOutGbPerS ?? scaleOutGbPerS,
        nicKind: island.nicKind ?? nicKind,
        ...(island.gpu === undefined ? {} : { gpu: islandGpus[index]?.gpu ?? preset }),
        relativeSpeed: island.relativeSpeed,
        ...(speedByTensor === undefined ? {} : { speedByTensor }),
      };
    }),
    ...(asked.stagesInOneIsland === true ? { stagesInOneIsland: true as const } : {}),
    ...(asked.betweenIslandsGbPerS === undefined ? {} : { betweenIslandsGbPerS: asked.betweenIslandsGbPerS }),
  };
}

/** @throws DomainError INVALID_REQUEST where it was measured for a planner with other constants. */
function knownProfile(profile: ClusterProfile): ClusterProfile {
  const [unknown] = unknownConstantsOf(profile);
  if (unknown === undefined) return profile;
  const detail = `profile "${profile.name}" has a factor for "${unknown}", which is not a constant of this planner; measure the cluster again with coxswain calibrate`;
  throw new DomainError('INVALID_REQUEST', detail, [{ pointer: '/cluster/profile/factors', detail }]);
}

/** The first islands that hold `gpus` GPUs; the last of them may be used in part. */
function islandsWithin<Island extends { readonly gpus: number }>(islands: readonly Island[], gpus: number): Island[] {
  const used: Island[] = [];
  let left = gpus;
  for (const island of islands) {
    if (left <= 0) break;
    used.push({ ...island, gpus: Math.min(island.gpus, left) });
    left -= island.gpus;
  }
  return used;
}

/** Optimizer steps that a training over `tokens` tokens takes. */
export function stepsOf(request: Pick<PlanRequest, 'globalBatchSize' | 'sequenceLength'>, tokens: number): number {
  return tokens / (request.globalBatchSize * request.sequenceLength);
}
