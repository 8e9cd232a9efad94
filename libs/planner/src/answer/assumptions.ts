/** What a prediction takes for granted where the request does not say it. */
import { PRICE_BASIS } from '../presets/index.ts';
import type { ResolvedRequest } from '../request/resolved-request.ts';

export function assumptionsOf({ request, run }: ResolvedRequest): string[] {
  const { cluster } = run;
  const asked = request.cluster;
  const assumed: string[] = [];
  if (request.precision === undefined && run.precision !== 'bf16')
    assumed.push(`${run.precision}, as ${cluster.gpu.name} multiplies no bf16`);
  if (asked.profile !== undefined)
    assumed.push(`constants as measured on this cluster (profile "${asked.profile.name}")`);
  if (asked.gpusPerNode === undefined)
    assumed.push(`${cluster.gpusPerNode} GPUs per node, as ${cluster.gpu.name} usually has`);
  if (asked.scaleOutGbPerS === undefined) {
    assumed.push(`${cluster.scaleOutGbPerS} GB/s of ${cluster.nicKind} per GPU and direction between nodes`);
  }
  if (asked.usdPerGpuHour === undefined)
    assumed.push(`${cluster.gpu.usdPerHour} USD per GPU and hour (${PRICE_BASIS})`);
  if (request.stack === undefined) assumed.push('an engine like the average of those measured; name one with stack');
  assumed.push(
    run.flashAttention ? 'FlashAttention' : 'attention without FlashAttention',
    `gradients summed in ${run.gradientBytes} bytes, Adam with fp32 master weights and moments`,
    'sequence parallelism wherever tensor parallelism is above 1',
    'gradient reduction and parameter gathering overlap with computation',
    'samples of equal length, and a machine that waits for no data',
  );
  return assumed;
}
