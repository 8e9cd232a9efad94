/** Assumptions of a prediction about what the request leaves open. */
import { LAYOUT_ENGINES, resolveLoraTargets } from '@coxswain/layout';
import { GIB_BYTES } from '@coxswain/units';
import type { PlanRequest } from '../contract.ts';
import type { ClusterFacts } from '../facts.ts';
import { familyOfStack } from '../calibration/calibration.ts';
import { CALIBRATION } from '../calibration/fitted.ts';
import { hostCapacityBytesOf, memoryGibOf, mostAllocatedBytesOf } from '../memory/memory-verdict.ts';
import { PRICE_BASIS } from '../presets/index.ts';
import { nearestNames } from '../presets/named.ts';
import { engineOfStack } from '../request/engine-choices.ts';
import { assumedEngineOf } from '../request/assumed-engine.ts';
import type { ResolvedRequest } from '../request/resolved-request.ts';
import { toolsOf, type EngineTools } from '../space/engine-tools.ts';
import { gpuCountsOf } from '../space/gpu-counts.ts';

/** The assumptions of an answer, one sentence each. */
export function assumptionsOf(resolved: ResolvedRequest): string[] {
  const { request, run, allow } = resolved;
  const { cluster } = run;
  const asked = request.cluster;
  const assumed: string[] = [];
  if (request.precision === undefined && run.precision !== 'bf16')
    assumed.push(`${run.precision}, because ${cluster.gpu.name} does not support bf16`);
  if (asked.profile !== undefined)
    assumed.push(`constants as measured on this cluster (profile "${asked.profile.name}")`);
  if (asked.gpusPerNode === undefined)
    assumed.push(`${cluster.gpusPerNode} GPUs per node, as is usual for ${cluster.gpu.name}`);
  assumed.push(...linksAssumed(request, cluster));
  if (asked.usdPerGpuHour === undefined)
    assumed.push(`${cluster.gpu.usdPerHour} USD per GPU and hour (${PRICE_BASIS})`);
  assumed.push(...engineAssumed(request, toolsOf(run.stack, run)));
  assumed.push(
    run.flashAttention ? 'FlashAttention' : 'attention without FlashAttention',
    `gradients summed in ${run.gradientBytes} bytes, Adam with fp32 master weights and moments`,
    ...loraAssumed(run),
    ...packingAssumed(resolved),
    'sequence parallelism wherever tensor parallelism is above 1',
    'gradient reduction and parameter gathering overlap with computation',
    'samples of equal length, and no waiting for data',
    memoryAssumed(run, request.memoryMarginShare),
  );
  const hostGib = Math.floor(hostCapacityBytesOf(cluster) / GIB_BYTES);
  if (allow.offload !== false)
    assumed.push(`${hostGib} GiB of host memory per GPU may hold offloaded states and activations`);
  if (request.objective === 'cost' && request.deadlineHours === undefined)
    assumed.push('no deadline, so only the cost counts and not the training time');
  assumed.push(...countsAssumed(resolved));
  return assumed;
}

function loraAssumed({ lora }: ResolvedRequest['run']): readonly string[] {
  if (lora === undefined) return [];
  const where = resolveLoraTargets(lora).join(', ');
  return [`adapters of rank ${lora.rank} at ${where}; frozen weights have no gradients and no optimizer states`];
}

function packingAssumed({ request: { packing }, run }: ResolvedRequest): readonly string[] {
  if (packing === undefined) return [];
  if (run.documentTokens !== undefined)
    return [
      `attention stays within documents of ${run.documentTokens} tokens each; documents of different lengths take longer`,
    ];
  return packing.meanTokens === undefined
    ? ['attention over whole samples, because packing.meanTokens is not given']
    : [];
}

/** The searched numbers of GPUs, if a plan may use fewer than all. */
function countsAssumed(resolved: ResolvedRequest): readonly string[] {
  const counts = gpuCountsOf(resolved).map((count) => count.toLocaleString('en-US'));
  const last = counts.pop();
  if (counts.length === 0 || last === undefined) return [];
  return [`only numbers of GPUs that divide all GPUs into whole nodes: ${counts.join(', ')} and ${last}`];
}

/** Assumptions about links that the run uses. */
function linksAssumed({ cluster: asked }: PlanRequest, cluster: ClusterFacts): readonly string[] {
  const { gpu, gpus, gpusPerNode, scaleUpDomainGpus, scaleOutGbPerS, nicKind } = cluster;
  const leavesNode = gpus > Math.max(gpusPerNode, scaleUpDomainGpus);
  const passesHost = Math.min(gpus, gpusPerNode) > scaleUpDomainGpus;
  return [
    ...(asked.scaleOutGbPerS === undefined && leavesNode
      ? [`${scaleOutGbPerS} GB/s of ${nicKind} per GPU and direction between nodes`]
      : []),
    ...(asked.scaleUpDomainGpus === undefined && passesHost
      ? [
          `groups of ${scaleUpDomainGpus} GPUs joined at ${gpu.scaleUpGbPerS} GB/s per direction, and PCIe of ${gpu.pcieGbPerS} GB/s between groups`,
        ]
      : []),
  ];
}

const DISPATCHERS: Partial<Record<EngineTools['dispatcher'], string>> = { deepep: 'DeepEP', hybridep: 'HybridEP' };

function engineAssumed(request: PlanRequest, { dispatcher }: EngineTools): readonly string[] {
  const { stack } = request;
  const assumed = assumedEngineOf(request);
  const named = DISPATCHERS[dispatcher];
  const dispatch = named === undefined ? '' : ` and sends tokens to experts with ${named}`;
  if (stack === undefined) {
    const choices =
      assumed === undefined ? 'supports every schedule and every ZeRO stage' : `runs what ${assumed} runs`;
    return [`an engine of average speed that ${choices}${dispatch}; name your engine with stack`];
  }
  const family = familyOfStack(stack);
  const engine = engineOfStack(stack);
  if (isMeasured(family)) {
    const release = isMeasured(stack)
      ? []
      : [`the constants of ${family}, because its release in "${stack}" was not measured`];
    const unknownOptions = `that ${family} supports every schedule and every ZeRO stage, because its options are not known`;
    return engine === undefined ? [...release, unknownOptions] : release;
  }
  if (isMeasured(stack)) return [];
  if (engine !== undefined) {
    const known = engine === family ? 'its options are known' : `its options are those of ${engine}`;
    return [`the constants of an average engine, because ${family} was not measured; ${known}`];
  }
  const near = KNOWN.map((name) => ({ name, aliases: [] }));
  return [
    `an average engine that supports every option${dispatch}, because engine "${stack}" is unknown; nearest names: ${nearestNames(near, stack, 3).join(', ')}`,
  ];
}

const MEASURED = [...new Set([...Object.keys(CALIBRATION.families), ...Object.keys(CALIBRATION.stacks)])];

/** Names of engines for suggestions; programs of the user are left out. */
const KNOWN = [...new Set([...MEASURED, ...LAYOUT_ENGINES])].filter(
  (name) => !['command', 'custom', 'reference'].includes(name),
);

function isMeasured(stack: string): boolean {
  return MEASURED.includes(stack);
}

function memoryAssumed(run: ResolvedRequest['run'], marginShare: number | undefined): string {
  const usable = (mostAllocatedBytesOf(run, marginShare) / GIB_BYTES).toFixed(1);
  return `${usable} of ${memoryGibOf(run.cluster).toFixed(1)} GiB of a GPU may be allocated; the rest is a margin and the memory of CUDA, communicators and the allocator`;
}
