/** Which space does a request open on one number of GPUs? */
import { engineOfStack } from '../request/engine-choices.ts';
import type { ResolvedRequest, RunBase } from '../request/resolved-request.ts';
import { toolsOf } from './engine-tools.ts';
import type { SpaceFacts } from './search-space.ts';

export function spaceOf({ request, allow }: ResolvedRequest, run: RunBase): SpaceFacts {
  return {
    model: run.model,
    cluster: run.cluster,
    globalBatchSize: run.globalBatchSize,
    sequenceLength: run.sequenceLength,
    flashAttention: run.flashAttention,
    pinned: request.pinned ?? {},
    allow,
    ...plainStagesOf(run.stack),
    tools: toolsOf(run.stack, run),
  };
}

/** Engines that were built around sharded states; to the others each rank keeps weights and gradients. */
const SHARDING_ENGINES: ReadonlySet<string | undefined> = new Set([
  'torchtitan',
  'torchtitan-toml',
  'deepspeed',
  'hugging-face',
  'megatron-deepspeed',
]);

function plainStagesOf(stack: string): Pick<SpaceFacts, 'plainZeroStages'> {
  return SHARDING_ENGINES.has(engineOfStack(stack)) ? { plainZeroStages: [1, 2, 3] } : {};
}
