/** What does a request mean? Its presets are looked up once, and everything that answers it reads what was found. */
import { DomainError } from '@coxswain/domain-error';
import type { ModelShape } from '@coxswain/layout';
import { unknownConstantsOf } from '../calibration/with-profile.ts';
import type { ClusterProfile } from '../cluster-profile.ts';
import type { AllowedChoices, PlanCluster, PlanRequest } from '../contract.ts';
import type { ClusterFacts, RunFacts } from '../facts.ts';
import { GPU_PRESETS, modelOf, namedOf, type GpuPreset } from '../presets/index.ts';
import { choicesOfEngine, gradientBytesOf } from './engine-choices.ts';
import { contradictionsOf } from './request-contradictions.ts';

export interface ResolvedRequest {
  /** What was asked. */
  readonly request: PlanRequest;
  readonly gpu: GpuPreset;
  /** The run on all GPUs of the cluster. */
  readonly run: RunBase;
  /** What the caller allows and the engine can be told. */
  readonly allow: AllowedChoices;
}

/** Everything about a run but its layout. */
export type RunBase = Omit<RunFacts, 'candidate'>;

/** Stands for any engine where a request names none. */
export const UNNAMED_STACK = 'unnamed';

const BITS_PER_BYTE = 8;

/**
 * @throws DomainError INVALID_REQUEST for a preset that does not exist, with the nearest names, and for words that contradict the model or the
 * GPUs, with one violation each.
 */
export function resolveRequest(request: PlanRequest): ResolvedRequest {
  const { cluster } = request;
  const gpu = namedOf(GPU_PRESETS, cluster.gpu, 'GPU', '/cluster/gpu');
  const model = modelShapeOf(request);
  const contradictions = contradictionsOf(request, { model, gpu });
  if (contradictions.length > 0) {
    const told = contradictions.map(({ pointer, detail }) => `${pointer}: ${detail}`);
    throw new DomainError('INVALID_REQUEST', told.join('; '), contradictions);
  }
  const run: RunBase = {
    model,
    cluster: clusterOf(cluster, gpu, cluster.gpus),
    stack: request.stack ?? UNNAMED_STACK,
    precision: request.precision,
    flashAttention: hasFlashAttention(gpu),
    gradientBytes: gradientBytesOf(request.stack),
    loraRank: 0,
    globalBatchSize: request.globalBatchSize,
    sequenceLength: request.sequenceLength,
  };
  return { request, gpu, run, allow: choicesOfEngine(request.stack, request.allow ?? {}) };
}

/** The same run on another number of GPUs: of several islands the first that hold so many. */
export function runOnGpus({ request, gpu, run }: ResolvedRequest, gpus: number): RunBase {
  return gpus === run.cluster.gpus ? run : { ...run, cluster: clusterOf(request.cluster, gpu, gpus) };
}

function modelShapeOf(request: PlanRequest): ModelShape {
  if (request.modelShape !== undefined) return request.modelShape;
  return modelOf(request.model ?? '').model;
}

/** FlashAttention runs on tensor cores of Ampere and later, and on AMD's matrix cores; Volta computes attention in parts. */
function hasFlashAttention(gpu: GpuPreset): boolean {
  return !gpu.name.startsWith('v100');
}

function clusterOf(asked: PlanCluster, preset: GpuPreset, gpus: number): ClusterFacts {
  const gpusPerNode = Math.min(gpus, asked.gpusPerNode ?? preset.gpusPerNode);
  const scaleOutGbPerS = asked.scaleOutGbPerS ?? preset.nicGbps / BITS_PER_BYTE;
  const nicKind = asked.nicKind ?? preset.nicKind;
  const facts: ClusterFacts = {
    gpu: preset,
    gpus,
    gpusPerNode,
    scaleUpDomainGpus: Math.min(gpus, asked.scaleUpDomainGpus ?? preset.scaleUpDomainGpus),
    scaleOutGbPerS,
    nicKind,
    hostMemoryGibPerNode: (preset.hostMemoryGibPerNode * gpusPerNode) / preset.gpusPerNode,
    ...(asked.profile === undefined ? {} : { profile: knownProfile(asked.profile) }),
  };
  if (asked.islands === undefined) return facts;
  return {
    ...facts,
    islands: islandsWithin(asked.islands, gpus).map((island) => ({
      gpus: island.gpus,
      scaleOutGbPerS: island.scaleOutGbPerS ?? scaleOutGbPerS,
      nicKind: island.nicKind ?? nicKind,
      relativeSpeed: island.relativeSpeed,
    })),
    ...(asked.betweenIslandsGbPerS === undefined ? {} : { betweenIslandsGbPerS: asked.betweenIslandsGbPerS }),
  };
}

/** @throws DomainError INVALID_REQUEST where it was measured for a planner with other constants. */
function knownProfile(profile: ClusterProfile): ClusterProfile {
  const [unknown] = unknownConstantsOf(profile);
  if (unknown === undefined) return profile;
  const detail = `"${unknown}" of profile "${profile.name}" is no constant of this planner: measure the cluster again with coxswain calibrate`;
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
