/** What of a run is known before its layout: the request with its presets looked up. */
import { DomainError, type Violation } from '@coxswain/domain-error';
import type { ModelShape } from '@coxswain/layout';
import type { ClusterFacts, RunFacts } from '../facts.ts';
import { PlanRequest, type PlanCluster, type PlanRequestInput } from '../contract.ts';
import { GPU_PRESETS, modelOf, namedOf, type GpuPreset } from '../presets/index.ts';
import { choicesOfEngine } from './engine-choices.ts';
import type { SpaceFacts } from '../space/search-space.ts';

/** Everything about a run but its layout. */
export type RunBase = Omit<RunFacts, 'layout'>;

/** Stands for any engine where a request names none. */
export const UNNAMED_STACK = 'unnamed';

const BITS_PER_BYTE = 8;

/**
 * A request with its defaults filled in.
 *
 * @throws DomainError INVALID_REQUEST with one violation per fault.
 */
export function planRequestOf(input: PlanRequestInput): PlanRequest {
  const parsed = PlanRequest.safeParse(input);
  if (parsed.success) return withAllIslands(parsed.data);
  const violations = parsed.error.issues.map((issue): Violation => ({
    pointer: issue.path.map((part) => `/${String(part)}`).join(''),
    detail: issue.message,
  }));
  throw invalidRequest(violations);
}

function invalidRequest(violations: readonly Violation[]): DomainError {
  const told = violations.map(({ pointer, detail }) => `${pointer === '' ? 'the request' : pointer}: ${detail}`);
  return new DomainError('INVALID_REQUEST', told.join('; '), violations);
}

/** The run that a request describes, on `gpus` of its GPUs. */
export function runBaseOf(request: PlanRequest, gpus = request.cluster.gpus): RunBase {
  const preset = gpuPresetOf(request.cluster);
  return {
    model: modelShapeOf(request),
    cluster: clusterOf(request.cluster, preset, gpus),
    stack: request.stack ?? UNNAMED_STACK,
    precision: request.precision,
    flashAttention: hasFlashAttention(preset),
    gradientBytes: 4,
    loraRank: 0,
    globalBatchSize: request.globalBatchSize,
    sequenceLength: request.sequenceLength,
  };
}

export function spaceOf(request: PlanRequest, base: RunBase): SpaceFacts {
  return {
    model: base.model,
    cluster: base.cluster,
    globalBatchSize: base.globalBatchSize,
    sequenceLength: base.sequenceLength,
    flashAttention: base.flashAttention,
    pinned: request.pinned ?? {},
    allow: choicesOfEngine(request.stack, request.allow ?? {}),
  };
}

function modelShapeOf(request: PlanRequest): ModelShape {
  if (request.modelShape !== undefined) return request.modelShape;
  return modelOf(request.model ?? '').model;
}

function gpuPresetOf(cluster: PlanCluster): GpuPreset {
  return namedOf(GPU_PRESETS, cluster.gpu, 'GPU', '/cluster/gpu');
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

/** Islands must hold the GPUs of the cluster, no more and no fewer. */
function withAllIslands(request: PlanRequest): PlanRequest {
  const { islands, gpus } = request.cluster;
  if (islands === undefined) return request;
  const inIslands = islands.reduce((sum, island) => sum + island.gpus, 0);
  if (inIslands === gpus) return request;
  const detail = `islands hold ${inIslands} GPUs and cluster.gpus is ${gpus}; list every island, or correct cluster.gpus`;
  throw invalidRequest([{ pointer: '/cluster/islands', detail }]);
}

/** Optimizer steps that a training over `tokens` tokens takes. */
export function stepsOf(request: Pick<PlanRequest, 'globalBatchSize' | 'sequenceLength'>, tokens: number): number {
  return tokens / (request.globalBatchSize * request.sequenceLength);
}
