import { PlanRequest, type PlanRequestInput } from '@coxswain/planner/types';

/** A small dense model on eight H100, with so few choices that it is planned at once. */
export function aPlanRequest(overrides: Partial<PlanRequestInput> = {}): PlanRequest {
  return PlanRequest.parse({
    modelShape: {
      name: 'small',
      layers: 8,
      hiddenSize: 1024,
      ffnHiddenSize: 4096,
      attentionHeads: 16,
      keyValueHeads: 16,
      headDim: 64,
      vocabularySize: 32_000,
      gatedMlp: true,
    },
    cluster: { gpu: 'h100', gpus: 8 },
    globalBatchSize: 64,
    sequenceLength: 2048,
    top: 3,
    pinned: { chunks: 1, context: 1, zeroStage: 1, recompute: 'none', partition: 'even', rankOrder: 'tp-cp-dp-pp' },
    allow: { schedules: ['1f1b'], offload: false },
    ...overrides,
  });
}
