/** Resolves a request: looks up its presets once for all later steps. */
import { DomainError } from '@coxswain/domain-error';
import { engineNamed, type ModelShape, resolveDocumentTokens } from '@coxswain/layout';
import { BITS_PER_BYTE } from '@coxswain/units';
import { familyOfStack } from '../calibration/calibration.ts';
import { unknownConstantsOf } from '../calibration/with-profile.ts';
import type { ClusterProfile } from '../cluster-profile.ts';
import type { AllowedChoices, PlanCluster, PlanRequest } from '../contract.ts';
import type { ClusterFacts, RunFacts } from '../facts.ts';
import { GPU_PRESETS, modelOf, namedOf, type GpuPreset } from '../presets/index.ts';
import { bytesOfGradient, choicesOfEngine, plannedGradientsOf } from './engine-choices.ts';
import { speedByTensorOf } from './island-speed.ts';
import { precisionOf } from './gpu-formats.ts';
import { contradictionsOf } from './request-contradictions.ts';

/** A request with its presets. */
export interface ResolvedRequest {
  /** The request, with a normalised stack name. */
  readonly request: PlanRequest;
  readonly gpu: GpuPreset;
  /** The GPU of each island of the request. */
  readonly islandGpus: readonly IslandGpu[];
  /** The run on all GPUs of the cluster. */
  readonly run: RunBase;
  /** What the caller allows and the engine can be messages. */
  readonly allow: AllowedChoices;
}

/** The GPU type of an island and its speed relative to the GPU of the cluster. Absent speed: equal. */
interface IslandGpu {
  readonly gpu: GpuPreset;
  readonly speedByTensor?: Readonly<Record<number, number>> | undefined;
}

/** A run without its layout. */
export type RunBase = Omit<RunFacts, 'candidate'>;

/** The stack of a request that names none. */
export const UNNAMED_STACK = 'unnamed';

/**
 * Looks up the presets of a request and checks it for contradictions.
 *
 * @throws DomainError INVALID_REQUEST for an unknown preset, with the nearest names, and for each option that contradicts the model, the engine or the GPUs.
 */
export function resolveRequest(asked: PlanRequest): ResolvedRequest {
  const request = normalizeStack(asked);
  const { cluster } = request;
  const gpu = namedOf(GPU_PRESETS, cluster.gpu, 'GPU', '/cluster/gpu');
  const model = modelShapeOf(request);
  const presets = (cluster.islands ?? []).map((island, index) =>
    island.gpu === undefined ? gpu : namedOf(GPU_PRESETS, island.gpu, 'GPU', `/cluster/islands/${index}/gpu`),
  );
  const contradictions = contradictionsOf(request, { model, gpu, islandGpus: presets });
  if (contradictions.length > 0) {
    const messages = contradictions.map(({ pointer, detail }) => `${pointer}: ${detail}`);
    throw new DomainError('INVALID_REQUEST', messages.join('; '), contradictions);
  }
  const documentTokens = resolveDocumentTokens(request.packing, request.sequenceLength);
  const run: RunBase = {
    model,
    cluster: clusterOf(cluster, { gpu, islandGpus: [] }, cluster.gpus),
    stack: request.stack ?? UNNAMED_STACK,
    precision: precisionOf(request),
    flashAttention: [gpu, ...presets].every(hasFlashAttention),
    gradientBytes: bytesOfGradient(plannedGradientsOf({ ...request, precision: precisionOf(request) })),
    loraRank: request.lora?.rank ?? 0,
    ...(request.lora === undefined ? {} : { lora: request.lora }),
    globalBatchSize: request.globalBatchSize,
    sequenceLength: request.sequenceLength,
    ...(documentTokens === undefined ? {} : { documentTokens }),
  };
  const islandGpus = presets.map((preset) => ({ gpu: preset, speedByTensor: speedByTensorOf(run, preset) }));
  const allow = choicesOfEngine(request.stack, request.allow ?? {});
  const withSpeeds = { ...run, cluster: clusterOf(cluster, { gpu, islandGpus }, cluster.gpus) };
  return { request, gpu, islandGpus, run: withSpeeds, allow };
}

/** Gives engines their own names: `TorchTitan`, `Megatron_LM core_v0.15` and `transformers 5.1`. A name without an engine stays, in lower case. */
function normalizeStack(request: PlanRequest): PlanRequest {
  if (request.stack === undefined) return request;
  const stack = request.stack.trim().toLowerCase();
  const family = familyOfStack(stack);
  const engine = engineNamed(family) ?? family.replace(/^\S+/, (word) => word.replaceAll('_', '-'));
  return { ...request, stack: `${engine}${stack.slice(family.length)}` };
}

/** The run on another number of GPUs, which the first islands provide. */
export function runOnGpus(resolved: ResolvedRequest, gpus: number): RunBase {
  const { request, run } = resolved;
  return gpus === run.cluster.gpus ? run : { ...run, cluster: clusterOf(request.cluster, resolved, gpus) };
}

function modelShapeOf(request: PlanRequest): ModelShape {
  if (request.modelShape !== undefined) return request.modelShape;
  return modelOf(request.model ?? '').model;
}

/** FlashAttention 2 runs on tensor cores of Ampere and later, and on AMD's matrix cores; on Turing and older GPUs attention is computed without it. */
function hasFlashAttention({ silicon }: GpuPreset): boolean {
  return !['gp100', 'gv100', 'tu104'].includes(silicon);
}

/** The size of an NVLink domain. A domain inside a node shrinks with the requested GPUs per node; a domain of a rack does not. */
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

/** The network options of an island. */
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

/** @throws DomainError INVALID_REQUEST if the profile was measured for a planner with other constants. */
function knownProfile(profile: ClusterProfile): ClusterProfile {
  const [unknown] = unknownConstantsOf(profile);
  if (unknown === undefined) return profile;
  const detail = `profile "${profile.name}" has a factor for "${unknown}", which is not a constant of this planner; measure the cluster again with coxswain calibrate`;
  throw new DomainError('INVALID_REQUEST', detail, [{ pointer: '/cluster/profile/factors', detail }]);
}

/** The first islands that together have `gpus` GPUs; the last may be used partly. */
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

/** Number of optimizer steps of a training with `tokens` tokens. */
export function stepsOf(request: Pick<PlanRequest, 'globalBatchSize' | 'sequenceLength'>, tokens: number): number {
  return tokens / (request.globalBatchSize * request.sequenceLength);
}
