import { parsePlanRequest } from '../request/parse-plan-request.ts';
import { resolveRequest, UNNAMED_STACK } from '../request/resolved-request.ts';
import type { PlanRequestInput } from '../contract.ts';
import { gpuOf, modelOf } from '../presets/index.ts';
import { aCandidate } from '../testing/candidates.ts';
import { aCluster } from '../testing/runs.ts';
import { PLAIN_TOOLS, toolsOf, type EngineTools } from './engine-tools.ts';
import { candidateOfMesh, denseMeshesOf, expertGridsOf, withStates } from './search-space.ts';
import { spaceOf } from './space-of-request.ts';

const on = (gpu: string, model: string, precision: 'bf16' | 'mxfp8' | 'nvfp4' = 'bf16') => ({
  model: modelOf(model).model,
  cluster: aCluster(16, { gpu: gpuOf(gpu) }),
  precision,
});

const HYBRID_WITH_EXPERTS = {
  ...on('gb200', 'qwen3-30b-a3b', 'mxfp8'),
  model: { ...modelOf('qwen3-30b-a3b').model, gatedMlp: false },
};

describe('what an expert turns on', () => {
  it.each<[string, string, ReturnType<typeof on>, Partial<EngineTools>]>([
    ['DeepEP for experts on Hopper', 'megatron-lm core_v0.19', on('h100', 'qwen3-30b-a3b'), { dispatcher: 'deepep' }],
    [
      'HybridEP for experts on Blackwell',
      'megatron-bridge 26.04',
      on('gb200', 'qwen3-30b-a3b'),
      { dispatcher: 'hybridep' },
    ],
    [
      'the same for experts where no engine is named',
      UNNAMED_STACK,
      on('h100', 'qwen3-30b-a3b'),
      { dispatcher: 'deepep' },
    ],
    ['nothing else where none is', UNNAMED_STACK, on('h100', 'llama-3.1-8b'), PLAIN_TOOLS],
    ['the same with a name that nobody knows', 'mine', on('h100', 'qwen3-30b-a3b'), { dispatcher: 'deepep' }],
    ['the plain exchange with InternEvo', 'internevo', on('h100', 'qwen3-30b-a3b'), PLAIN_TOOLS],
    ['the plain exchange with Sailor', 'sailor', on('h100', 'qwen3-30b-a3b'), PLAIN_TOOLS],
    [
      'the plain exchange with vocabularies over stages',
      'vocabulary-parallel',
      on('h100', 'qwen3-30b-a3b'),
      PLAIN_TOOLS,
    ],
    ['no division of experts to speak of with OneFlow', 'oneflow', on('h100', 'qwen3-30b-a3b'), PLAIN_TOOLS],
    ['the plain exchange with DeepSpeed', 'deepspeed', on('h100', 'qwen3-30b-a3b'), PLAIN_TOOLS],
    ['the plain exchange on A100', 'megatron-lm', on('a100', 'qwen3-30b-a3b'), { dispatcher: 'alltoall' }],
    [
      'no dispatcher for a dense model',
      'megatron-lm',
      on('h100', 'llama-3.1-8b'),
      { dispatcher: 'alltoall', overlapExpert: false },
    ],
    [
      'overlap of tensor traffic, which NVFP4 has not',
      'megatron-bridge',
      on('b200', 'llama-3.1-8b', 'nvfp4'),
      { overlapTensor: false },
    ],
    ['overlap of tensor traffic', 'megatron-bridge', on('b200', 'llama-3.1-8b'), { overlapTensor: true }],
    [
      'graphs of parts of a layer for experts on Blackwell',
      'megatron-bridge',
      on('b200', 'qwen3-30b-a3b'),
      { cudaGraphs: 'partial' },
    ],
    [
      'one graph of the whole step in mxfp8',
      'megatron-bridge',
      on('b200', 'qwen3-30b-a3b', 'mxfp8'),
      { cudaGraphs: 'full' },
    ],
    [
      'graphs of parts in nvfp4, whose products of experts ask the host',
      'megatron-bridge',
      on('b200', 'qwen3-30b-a3b', 'nvfp4'),
      { cudaGraphs: 'partial' },
    ],
    [
      'graphs of parts where experts have no gates, as those of hybrids',
      'megatron-bridge',
      HYBRID_WITH_EXPERTS,
      { cudaGraphs: 'partial' },
    ],
    [
      'one graph of the whole step of a dense model on Blackwell, in any format',
      'nemo mlperf 5.1',
      on('gb200', 'llama-3.1-8b'),
      { cudaGraphs: 'full' },
    ],
    [
      'no graphs of a dense model on Hopper',
      'megatron-bridge 26.04',
      on('h100', 'llama-3.1-8b'),
      { cudaGraphs: 'none' },
    ],
    ["none of NVIDIA's kernels on AMD's GPUs", 'megatron-lm', on('mi300x', 'qwen3-30b-a3b'), PLAIN_TOOLS],
  ])('is %s', (_sentence, stack, situation, want) => {
    expect(toolsOf(stack, situation)).toMatchObject(want);
  });

  it.each([
    ['stands beside activations that stay on the GPU', 0, 'full'],
    ['is left where they are in host memory: a graph of a whole step cannot wait for them', 1, 'none'],
  ])('as one graph of the whole step %s', (_sentence, offloadActivations, want) => {
    const candidate = { ...aCandidate(), cudaGraphs: 'full' as const };
    const states = { zeroStage: 1, shardGroup: 1, recompute: 'none', offloadOptimizer: 0, offloadActivations } as const;
    expect(withStates(candidate, states, modelOf('llama-3.1-8b').model).cudaGraphs).toBe(want);
    expect(withStates({ ...candidate, cudaGraphs: 'partial' }, states, modelOf('llama-3.1-8b').model).cudaGraphs).toBe(
      'partial',
    );
  });

  it.each([
    ['stand beside norms that are computed again', 'norms', 'partial'],
    ['end at layers of experts that are', 'mlp', 'none'],
    ['end at whole layers that are', 'full', 'none'],
  ] as const)('as graphs of parts, which %s', (_sentence, recompute, want) => {
    const states = { zeroStage: 1, shardGroup: 1, recompute, offloadOptimizer: 0, offloadActivations: 0 } as const;
    const { model } = modelOf('qwen3-30b-a3b');
    expect(withStates({ ...aCandidate(), cudaGraphs: 'partial' }, states, model).cudaGraphs).toBe(want);
    expect(withStates({ ...aCandidate(), cudaGraphs: 'full' }, states, model).cudaGraphs).toBe('full');
  });

  it.each([
    ['that are whole and sent between ranks', { expert: 8, expertTensor: 1 }, 'full'],
    ['that stay where their tokens are', { expert: 1, expertTensor: 1 }, 'partial'],
    ['whose tensors are divided', { expert: 8, expertTensor: 2 }, 'partial'],
  ])('has room in a graph of the whole step for experts %s', (_sentence, { expert, expertTensor }, want) => {
    const resolved = resolveRequest(
      parsePlanRequest({
        model: 'qwen3-30b-a3b',
        cluster: { gpu: 'b200', gpus: 16 },
        globalBatchSize: 64,
        sequenceLength: 4096,
        precision: 'mxfp8',
        stack: 'megatron-bridge',
        pinned: { tensor: 2, expert, expertTensor },
      }),
    );
    const space = spaceOf(resolved, resolved.run);
    const [mesh] = [...denseMeshesOf(space, (_, [first]) => first ?? 'ring')];
    const grids = mesh === undefined ? [] : expertGridsOf(space, mesh);
    expect(grids.map((grid) => mesh && candidateOfMesh({ ...mesh, ...grid }).cudaGraphs)).toEqual([want]);
  });

  it.each([
    ['where nothing is computed again', 'none', true],
    ['where norms are', 'norms', true],
    ['not where layers of experts are dispatched again', 'mlp', false],
    ['not where every second layer is', 'half', false],
    ['not where every layer is', 'full', false],
  ] as const)('hides the exchange of experts %s', (_sentence, recompute, want) => {
    const states = { zeroStage: 1, shardGroup: 1, recompute, offloadOptimizer: 0, offloadActivations: 0 } as const;
    const { model } = modelOf('qwen3-30b-a3b');
    expect(withStates({ ...aCandidate(), overlapExpert: true }, states, model).overlapExpert).toBe(want);
    expect(withStates({ ...aCandidate(), overlapExpert: false }, states, model).overlapExpert).toBe(false);
  });

  it('stands in every layout of the space, tensor overlap where tensor divides something and expert overlap without a pipeline', () => {
    const request: PlanRequestInput = {
      model: 'qwen3-30b-a3b',
      cluster: { gpu: 'h100', gpus: 16 },
      globalBatchSize: 64,
      sequenceLength: 4096,
      stack: 'megatron-bridge 26.04',
    };
    const resolved = resolveRequest(parsePlanRequest(request));
    const meshes = [...denseMeshesOf(spaceOf(resolved, resolved.run), (_, [first]) => first ?? 'ring')];
    expect(meshes.length).toBeGreaterThan(10);
    for (const mesh of meshes) {
      const candidate = candidateOfMesh({ ...mesh, expert: 8, expertTensor: 1 });
      expect(candidate.dispatcher).toBe('deepep');
      expect(candidate.overlapTensor).toBe(mesh.tensor > 1);
      expect(candidate.overlapExpert).toBe(mesh.pipeline === 1);
    }
  });
});
