/** The search space of a request on one number of GPUs. */
import type { PinnedAxes } from '../contract.ts';
import { engineOfStack, unsupportedDegreesOf } from '../request/engine-choices.ts';
import type { ResolvedRequest, RunBase } from '../request/resolved-request.ts';
import { toolsOf } from './engine-tools.ts';
import type { SpaceFacts } from './search-space.ts';
import type { StateSharing } from './shared-states.ts';

/** The search space of a request. */
export function spaceOf({ request, allow }: ResolvedRequest, run: RunBase): SpaceFacts {
  return {
    model: run.model,
    cluster: run.cluster,
    globalBatchSize: run.globalBatchSize,
    sequenceLength: run.sequenceLength,
    flashAttention: run.flashAttention,
    pinned: { ...withoutDegrees(run.stack), ...request.pinned },
    allow,
    ...plainStagesOf(run.stack),
    ...sharingOf(run.stack),
    tools: toolsOf(run.stack, run),
  };
}

function withoutDegrees(stack: string): PinnedAxes {
  return Object.fromEntries(unsupportedDegreesOf(stack).map((axis) => [axis, 1]));
}

/** Engines for which sharded weights and gradients are standard. */
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

function sharingOf(stack: string): Pick<SpaceFacts, 'sharing'> {
  const sharing = STATE_SHARING.get(engineOfStack(stack));
  return sharing === undefined ? {} : { sharing };
}

const STATE_SHARING: ReadonlyMap<string | undefined, StateSharing> = new Map([
  ['torchtitan', 'torchtitan'],
  ['torchtitan-toml', 'torchtitan'],
  ['hugging-face', 'hugging-face'],
  ['deepspeed', 'deepspeed'],
  ['megatron-deepspeed', 'deepspeed'],
  ['deep-optimizer-states', 'deepspeed'],
]);
