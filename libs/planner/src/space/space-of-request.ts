/** Which space does a request open on one number of GPUs? */
import type { ResolvedRequest, RunBase } from '../request/resolved-request.ts';
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
  };
}
