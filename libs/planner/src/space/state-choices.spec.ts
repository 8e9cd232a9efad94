import type { RecomputePolicy } from '../contract.ts';
import { peakAllocatedBytesOf } from '../memory/predict-memory.ts';
import { modelOf } from '../presets/index.ts';
import { aCandidate } from '../testing/candidates.ts';
import { aCluster, aModel, aRun, aSpace } from '../testing/runs.ts';
import {
  passGroupsOf,
  stateChoicesOf,
  withPassGroup,
  withStates,
  type Mesh,
  type SpaceFacts,
  type StateChoice,
} from './search-space.ts';

function aMesh(overrides: Partial<Mesh> = {}): Mesh {
  return {
    tensor: 1,
    context: 1,
    pipeline: 1,
    data: 8,
    microBatchSize: 1,
    contextAlgorithm: 'ring',
    rankOrder: 'tp-cp-dp-pp',
    expert: 1,
    expertTensor: 1,
    ...overrides,
  };
}

const written = (choices: readonly StateChoice[]): readonly string[] =>
  choices.map(
    (choice) =>
      `zero ${choice.zeroStage} of ${choice.shardGroup}, ${choice.recompute}, host ${choice.offloadOptimizer} ${choice.offloadActivations}`,
  );

describe('stateChoicesOf', () => {
  /** Kept by hand beside the prose of search-space.ts: policies of a flash kernel, and what may live in host memory. */
  const policies = ['none', 'norms', 'mlp', 'half', 'full'];
  const withHost = (zero: string, shares: readonly number[], pipeline: number) =>
    policies.flatMap((policy) =>
      shares.flatMap((optimizer) =>
        (pipeline === 1 && policy === 'none' ? [0, 1] : [0]).map(
          (activations) => `${zero}, ${policy}, host ${optimizer} ${activations}`,
        ),
      ),
    );

  it.each([1, 2])('in a pipeline of %d are every stage with every policy and what may leave the GPU', (pipeline) => {
    const choices = stateChoicesOf(aSpace(), aMesh({ pipeline, data: 8 / pipeline }));
    const replicas = 8 / pipeline;
    expect(written(choices)).toEqual([
      ...withHost(`zero 0 of ${replicas}`, [0], pipeline),
      ...[1, 2, 3].flatMap((stage) => withHost(`zero ${stage} of ${replicas}`, [0, 0.5, 1], pipeline)),
    ]);
  });

  const choicesOf = (overrides: Partial<SpaceFacts>, mesh: Partial<Mesh> = {}) =>
    stateChoicesOf(aSpace(overrides), aMesh(mesh));
  const stagesOf = (...asked: Parameters<typeof choicesOf>) => [
    ...new Set(choicesOf(...asked).map(({ zeroStage }) => zeroStage)),
  ];
  const policiesOf = (overrides: Partial<SpaceFacts>) => [
    ...new Set(choicesOf(overrides).map(({ recompute }) => recompute)),
  ];

  it.each<[string, Partial<SpaceFacts>, Partial<Mesh>, readonly number[]]>([
    ['one replica shards nothing, but its optimizer may live on the host', {}, { tensor: 8, data: 1 }, [0, 1]],
    ['one replica that may not use the host', { allow: { offload: false } }, { tensor: 8, data: 1 }, [0]],
    ['context ranks share states too', {}, { context: 8, data: 1 }, [0, 1, 2, 3]],
    [
      'a pinned stage stands, even where nothing can be sharded',
      { pinned: { zeroStage: 2 } },
      { tensor: 8, data: 1 },
      [2],
    ],
    ['of the allowed stages', { allow: { zeroStages: [3, 1] } }, {}, [1, 3]],
    ['a pinned stage goes before the allowed ones', { pinned: { zeroStage: 2 }, allow: { zeroStages: [1] } }, {}, [2]],
  ])('choose the ZeRO stage: %s', (_, overrides, mesh, want) => {
    expect(stagesOf(overrides, mesh)).toEqual(want);
  });

  it.each<[string, Partial<SpaceFacts>, readonly RecomputePolicy[]]>([
    [
      'core attention is worth it without a flash kernel only',
      { flashAttention: false },
      ['none', 'core-attention', 'norms', 'mlp', 'half', 'full'],
    ],
    ['unless it is pinned', { pinned: { recompute: 'core-attention' } }, ['core-attention']],
    ['of the allowed ones', { allow: { recompute: ['full', 'none'] } }, ['none', 'full']],
    [
      'allowed core attention is left out with a flash kernel',
      { allow: { recompute: ['core-attention', 'full'] } },
      ['full'],
    ],
  ])('choose what is computed again: %s', (_, overrides, want) => {
    expect(policiesOf(overrides)).toEqual(want);
  });

  it('of one replica shard the optimizer only to put it on the host', () => {
    const sharded = choicesOf({}, { tensor: 8, data: 1 }).filter(({ zeroStage }) => zeroStage === 1);
    expect(new Set(sharded.map(({ offloadOptimizer }) => offloadOptimizer))).toEqual(new Set([0.5, 1]));
  });

  it('leave host memory alone where an engine cannot use it', () => {
    for (const choice of choicesOf({ allow: { offload: false } })) {
      expect([choice.offloadOptimizer, choice.offloadActivations]).toEqual([0, 0]);
    }
  });

  it('keep to pinned shares of host memory', () => {
    const choices = choicesOf({ pinned: { offloadOptimizer: 0.25, offloadActivations: 0.75 } });
    expect(new Set(choices.map(({ offloadOptimizer }) => offloadOptimizer))).toEqual(new Set([0.25]));
    expect(new Set(choices.map(({ offloadActivations }) => offloadActivations))).toEqual(new Set([0.75]));
  });

  it('replicate everything at stage 0, so that there is one shard group of it', () => {
    const choices = stateChoicesOf(aSpace({ cluster: aCluster(16) }), aMesh({ data: 16 }));
    expect(new Set(choices.filter(({ zeroStage }) => zeroStage === 0).map(({ shardGroup }) => shardGroup))).toEqual(
      new Set([16]),
    );
    expect(new Set(choices.filter(({ zeroStage }) => zeroStage === 1).map(({ shardGroup }) => shardGroup))).toEqual(
      new Set([16, 8]),
    );
  });
});

describe('passGroupsOf', () => {
  const choices = stateChoicesOf(aSpace({ cluster: aCluster(16) }), aMesh({ data: 16 }));
  const groups = passGroupsOf(choices);

  it('divide the choices: each is in one group, under its own number', () => {
    const members = groups.flatMap((group) => group.members);
    expect(members.map(({ index }) => index).sort((a, b) => a - b)).toEqual(choices.map((_, index) => index));
    for (const { choice, index } of members) expect(choice).toBe(choices[index]);
  });

  it('hold together what no pass depends on: stages 0 to 2, their groups, and the optimizer', () => {
    // Five policies, none with and without activations in host memory, once for stages 0 to 2 and once for each of two groups of stage 3.
    expect(groups).toHaveLength((5 + 1) * (1 + 2));
    for (const { members } of groups) {
      expect(new Set(members.map(({ choice }) => choice.recompute)).size).toBe(1);
      expect(new Set(members.map(({ choice }) => choice.offloadActivations)).size).toBe(1);
      expect(new Set(members.map(({ choice }) => (choice.zeroStage === 3 ? choice.shardGroup : 0))).size).toBe(1);
    }
  });

  it('name the member that takes least memory on a GPU', () => {
    const model = modelOf('llama-3.1-8b').model;
    const bytesOf = (choice: StateChoice) =>
      peakAllocatedBytesOf(
        aRun({ model, candidate: withStates(aCandidate({ data: 16 }), choice, model), sequenceLength: 4096 }),
      );
    for (const { members, minMemory } of groups) {
      expect(bytesOf(minMemory)).toBe(Math.min(...members.map(({ choice }) => bytesOf(choice))));
    }
  });
});

describe('withStates', () => {
  const states: StateChoice = {
    zeroStage: 1,
    shardGroup: 4,
    recompute: 'none',
    offloadOptimizer: 0.5,
    offloadActivations: 0,
  };
  const of = (change: Partial<StateChoice>, model = aModel()) =>
    withStates(aCandidate({ data: 8 }), { ...states, ...change }, model);

  it.each([
    [0, 'ddp'],
    [1, 'distopt'],
    [2, 'fsdp'],
    [3, 'fsdp'],
  ] as const)('stage %d is run by %s', (zeroStage, zeroImplementation) => {
    expect(of({ zeroStage })).toMatchObject({ zeroStage, zeroImplementation, shardGroup: 4, offloadOptimizer: 0.5 });
  });

  const experts = { count: 8, topK: 2, ffnHiddenSize: 8, sharedFfnHiddenSize: 0, denseLayers: 0, latentSize: 0 };
  const latentAttention = { queryRank: 4, keyValueRank: 4, nopeHeadDim: 4, ropeHeadDim: 4, valueHeadDim: 4 };

  it.each<[RecomputePolicy, string, Parameters<typeof aModel>[0], readonly string[]]>([
    ['none', 'a dense model', {}, ['none']],
    ['core-attention', 'a dense model', {}, ['selective', 'core_attn']],
    ['norms', 'a dense model', {}, ['selective', 'layernorm']],
    ['norms', 'latent attention', { latentAttention }, ['selective', 'layernorm', 'mla_up_proj']],
    ['norms', 'experts', { experts }, ['selective', 'layernorm', 'moe_act']],
    ['mlp', 'a dense model', {}, ['selective', 'layernorm', 'mlp']],
    ['mlp', 'experts beside dense layers', { experts }, ['selective', 'layernorm', 'mlp', 'moe']],
    ['mlp', 'experts alone', { experts, ffnHiddenSize: 0 }, ['selective', 'layernorm', 'moe']],
    ['mlp', 'a hybrid without a dense MLP', { layerPattern: 'MMMAMMMA' }, ['selective', 'layernorm']],
    ['mlp', 'a hybrid with one', { layerPattern: 'MMMAMMM-' }, ['selective', 'layernorm', 'mlp']],
    ['operations', 'a dense model', {}, ['full']],
    ['half', 'a dense model', {}, ['full']],
    ['full', 'a dense model', {}, ['full']],
  ])('policy %s of %s is the mode and the modules of Megatron', (policy, _, sizes, want) => {
    const { recompute, recomputeModules } = of({ recompute: policy }, aModel(sizes));
    expect([recompute, ...recomputeModules]).toEqual(want);
  });
});

describe('withPassGroup', () => {
  it('drops at least one layer of a chunk where half of them are computed again, so that a bound on memory stays below', () => {
    const groups = passGroupsOf(stateChoicesOf(aSpace(), aMesh()));
    for (const group of groups) {
      const { recomputeLayersPerChunk } = withPassGroup(aCandidate({ data: 8 }), group, aModel());
      expect(recomputeLayersPerChunk).toBe(group.minMemory.recompute === 'half' ? 1 : undefined);
    }
  });

  it('takes the states of the minMemory member', () => {
    for (const group of passGroupsOf(stateChoicesOf(aSpace(), aMesh()))) {
      const { zeroStage, shardGroup, offloadOptimizer } = group.minMemory;
      const decided = withPassGroup(aCandidate({ data: 8 }), group, aModel());
      expect(decided).toMatchObject({ zeroStage, shardGroup, offloadOptimizer });
    }
  });
});
