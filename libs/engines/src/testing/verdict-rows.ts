/** Layout documents, and the exit code that `layout check`, `render` and `predict` end with; the API gives the same verdicts. */

/** Exit codes: 0 is yes, and 1 is no. */
export interface Verdicts {
  readonly check: number;
  readonly render: number;
  readonly predict: number;
}

const QWEN = {
  engine: { name: 'megatron-bridge' },
  model: 'qwen3-30b-a3b',
  batch: { globalBatchSize: 1024, microBatchSize: 1, sequenceLength: 4096 },
  mesh: { gpusPerNode: 8, segments: [{ nodes: 2, gpu: 'h200', network: 'roce' }] },
};
const EXPERTS = {
  pipelineParallelDegree: 2,
  dataParallelDegree: 8,
  pipeline: { schedule: 'interleaved-1f1b', chunksPerRank: 12 },
  states: { zeroStage: 1, implementation: 'distributed-optimizer' },
  communication: { overlapExpertParallel: true },
};

const STATES = { zeroStage: 1, implementation: 'distributed-optimizer' };

export const VERDICT_ROWS: readonly (readonly [sentence: string, document: object, want: Verdicts])[] = [
  [
    'an overlapped exchange of experts without a dispatcher is rendered by all-to-all, as it is priced',
    { ...QWEN, layout: { ...EXPERTS, expert: { expertParallelDegree: 8 } } },
    { check: 0, render: 0, predict: 0 },
  ],
  [
    'one by all-gather is refused by each',
    { ...QWEN, layout: { ...EXPERTS, expert: { expertParallelDegree: 8, dispatcher: 'allgather' } } },
    { check: 1, render: 1, predict: 1 },
  ],
  [
    'a degree that the engine lacks is refused by each',
    {
      ...QWEN,
      engine: { name: 'hugging-face' },
      model: 'qwen3-8b',
      layout: { tensorParallelDegree: 2, contextParallelDegree: 2, dataParallelDegree: 4 },
    },
    { check: 1, render: 1, predict: 1 },
  ],
  [
    'packed documents are refused by each where attention spans the sample',
    { ...QWEN, packing: { meanTokens: 500 }, layout: { ...EXPERTS, expert: { expertParallelDegree: 8 } } },
    { check: 1, render: 1, predict: 1 },
  ],
  [
    'packed documents are taken by each where attention stays within them',
    {
      ...QWEN,
      engine: { name: 'torchtitan' },
      model: 'qwen3-8b',
      packing: { meanTokens: 500 },
      layout: { dataParallelDegree: 16, states: { zeroStage: 3 } },
    },
    { check: 0, render: 0, predict: 0 },
  ],
  [
    'an option of the engine that contradicts the layout is refused by each',
    {
      ...QWEN,
      engine: { name: 'megatron-bridge', options: [{ name: 'ddp.overlap_grad_reduce', value: 'false' }] },
      model: 'qwen3-8b',
      layout: { dataParallelDegree: 16, states: STATES, communication: { overlapGradReduce: true } },
    },
    { check: 1, render: 1, predict: 1 },
  ],
  [
    'an option that agrees with the layout is taken by each',
    {
      ...QWEN,
      engine: { name: 'megatron-bridge', options: [{ name: 'ddp.overlap_grad_reduce', value: 'true' }] },
      model: 'qwen3-8b',
      layout: { dataParallelDegree: 16, states: STATES, communication: { overlapGradReduce: true } },
    },
    { check: 0, render: 0, predict: 0 },
  ],
  [
    'an option that DeepSpeed does not have beside the layout is refused by each',
    {
      ...QWEN,
      engine: { name: 'deepspeed', options: [{ name: 'zero_optimization.stage', value: '3' }] },
      model: 'qwen3-8b',
      layout: { dataParallelDegree: 16, states: { zeroStage: 2 } },
    },
    { check: 1, render: 1, predict: 1 },
  ],
  [
    'adapters that an engine does not train are refused by each',
    {
      ...QWEN,
      engine: { name: 'torchtitan' },
      model: 'qwen3-8b',
      lora: { rank: 16 },
      layout: { dataParallelDegree: 16, states: { zeroStage: 3 } },
    },
    { check: 1, render: 1, predict: 1 },
  ],
];
