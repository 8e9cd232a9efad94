import { ENGINE_CAPABILITIES } from './engine-capabilities.ts';
import { engineSupport, LAYOUT_ENGINES, type LayoutEngine, type ParallelLayout } from './index.ts';
import { aLayout } from './testing/index.ts';

/** Refusals of one option, by an engine that is told this layout. */
const refusalsOf = (engine: LayoutEngine, layout: Partial<ParallelLayout>, option: string): readonly string[] => {
  const outcome = engineSupport(engine, aLayout(layout));
  return outcome.kind === 'supported'
    ? []
    : outcome.refusals.filter((refusal) => refusal.option === option).map(({ fallback }) => fallback);
};

/** Who can be told what: read in the capability table's own sources, engine by engine. */
const able: readonly (readonly [what: string, layout: Partial<ParallelLayout>, engines: string])[] = [
  [
    'tensor parallelism',
    { tensorParallelDegree: 2 },
    'reference command megatron-lm megatron-bridge torchtitan torchtitan-toml deepspeed megatron-deepspeed galvatron mindspeed mindformers flagscale colossalai libai redco areal verl nemo-rl zero-bubble vocabulary-parallelism deep-optimizer-states linear-moe custom',
  ],
  [
    'a pipeline',
    { pipelineParallelDegree: 2 },
    'reference command megatron-lm megatron-bridge torchtitan torchtitan-toml deepspeed megatron-deepspeed galvatron mindspeed mindformers flagscale colossalai libai areal verl nemo-rl zero-bubble vocabulary-parallelism skippipe deep-optimizer-states linear-moe custom',
  ],
  [
    'context parallelism',
    { contextParallelDegree: 2 },
    'command megatron-lm megatron-bridge torchtitan torchtitan-toml deepspeed megatron-deepspeed galvatron mindspeed mindformers flagscale colossalai areal verl nemo-rl zero-bubble vocabulary-parallelism deep-optimizer-states linear-moe rcm custom',
  ],
  ['weight shards', { weightShardDegree: 2 }, 'megatron-lm megatron-bridge custom'],
  [
    'shard groups smaller than data parallelism',
    { dataParallelDegree: 4, dataParallelShardDegree: 2 },
    'megatron-lm megatron-bridge torchtitan torchtitan-toml deepspeed megatron-deepspeed galvatron mindspeed mindformers flagscale colossalai areal verl nemo-rl zero-bubble vocabulary-parallelism deep-optimizer-states linear-moe rcm hugging-face custom',
  ],
  [
    'a rank order',
    { rankOrder: ['tensor', 'data'] },
    'megatron-lm megatron-bridge galvatron mindspeed mindformers flagscale colossalai areal verl nemo-rl zero-bubble vocabulary-parallelism linear-moe custom',
  ],
  [
    'schedule gpipe',
    { pipelineParallelDegree: 4, pipeline: { schedule: 'gpipe' } },
    'torchtitan torchtitan-toml galvatron skippipe custom',
  ],
  [
    'schedule looped-bfs',
    { pipelineParallelDegree: 4, pipeline: { schedule: 'looped-bfs' } },
    'torchtitan torchtitan-toml',
  ],
  ['schedule zb-h1', { pipelineParallelDegree: 4, pipeline: { schedule: 'zb-h1' } }, 'megatron-deepspeed zero-bubble'],
  ['schedule zb-2p', { pipelineParallelDegree: 4, pipeline: { schedule: 'zb-2p' } }, 'zero-bubble'],
  [
    'schedule zbv',
    { pipelineParallelDegree: 4, pipeline: { schedule: 'zbv' } },
    'torchtitan torchtitan-toml colossalai zero-bubble',
  ],
  [
    'schedule v-half',
    { pipelineParallelDegree: 4, pipeline: { schedule: 'v-half' } },
    'zero-bubble vocabulary-parallelism',
  ],
  ['schedule v-min', { pipelineParallelDegree: 4, pipeline: { schedule: 'v-min' } }, 'zero-bubble'],
  [
    'schedule dualpipe-v',
    { pipelineParallelDegree: 4, pipeline: { schedule: 'dualpipe-v' } },
    'torchtitan torchtitan-toml mindspeed',
  ],
  [
    'schedule schedule-file',
    { pipelineParallelDegree: 4, pipeline: { schedule: 'schedule-file' } },
    'torchtitan torchtitan-toml custom',
  ],
  ['schedule partial-paths', { pipelineParallelDegree: 4, pipeline: { schedule: 'partial-paths' } }, 'skippipe'],
  ['schedule graph-chunks', { pipelineParallelDegree: 4, pipeline: { schedule: 'graph-chunks' } }, ''],
  ['vocabulary sharded-over-pp', { pipeline: { vocabulary: 'sharded-over-pp' } }, 'vocabulary-parallelism'],
  ['vocabulary interlaced', { pipeline: { vocabulary: 'interlaced' } }, 'vocabulary-parallelism'],
  [
    'context algorithm ring-self-attention',
    { contextParallelDegree: 4, sequence: { contextAlgorithm: 'ring-self-attention' } },
    'colossalai custom',
  ],
  [
    'context algorithm dist-flash',
    { contextParallelDegree: 4, sequence: { contextAlgorithm: 'dist-flash' } },
    'megatron-lm megatron-bridge mindspeed flagscale areal verl nemo-rl zero-bubble vocabulary-parallelism custom',
  ],
  [
    'context algorithm ulysses-ring',
    { contextParallelDegree: 4, sequence: { contextAlgorithm: 'ulysses-ring' } },
    'megatron-lm megatron-bridge mindspeed flagscale areal verl nemo-rl zero-bubble vocabulary-parallelism custom',
  ],
  [
    'context algorithm token-ring',
    { contextParallelDegree: 4, sequence: { contextAlgorithm: 'token-ring' } },
    'custom',
  ],
  ['context algorithm magi', { contextParallelDegree: 4, sequence: { contextAlgorithm: 'magi' } }, 'custom'],
  [
    'context algorithm state-allgather',
    { contextParallelDegree: 4, sequence: { contextAlgorithm: 'state-allgather' } },
    'linear-moe',
  ],
  ['context algorithm state-scan', { contextParallelDegree: 4, sequence: { contextAlgorithm: 'state-scan' } }, ''],
  ['dynamic flexsp', { sequence: { dynamic: { method: 'flexsp', maxTokensPerRank: 4096 } } }, 'galvatron'],
  [
    'dynamic hybrid-data-parallel',
    { sequence: { dynamic: { method: 'hybrid-data-parallel', maxTokensPerRank: 4096 } } },
    'megatron-lm megatron-bridge verl',
  ],
  [
    'ZeRO 1',
    { states: { zeroStage: 1 } },
    'megatron-lm megatron-bridge deepspeed megatron-deepspeed galvatron mindspeed mindformers flagscale colossalai libai areal verl nemo-rl zero-bubble vocabulary-parallelism deep-optimizer-states linear-moe hugging-face custom',
  ],
  [
    'ZeRO 2',
    { states: { zeroStage: 2 } },
    'megatron-lm megatron-bridge deepspeed megatron-deepspeed galvatron mindspeed flagscale colossalai libai areal verl nemo-rl zero-bubble vocabulary-parallelism deep-optimizer-states linear-moe hugging-face custom',
  ],
  [
    'ZeRO 3',
    { states: { zeroStage: 3 } },
    'megatron-lm megatron-bridge torchtitan torchtitan-toml deepspeed megatron-deepspeed galvatron mindspeed flagscale libai areal verl nemo-rl zero-bubble vocabulary-parallelism deep-optimizer-states linear-moe rcm hugging-face custom',
  ],
  [
    'a second, smaller shard group (hpZ)',
    { states: { secondaryShardDegree: 8 } },
    'deepspeed megatron-deepspeed deep-optimizer-states',
  ],
  [
    'several copies of the sharded optimizer',
    { states: { optimizerInstances: 2 } },
    'megatron-lm megatron-bridge galvatron mindspeed mindformers flagscale colossalai areal verl nemo-rl zero-bubble vocabulary-parallelism linear-moe custom',
  ],
  ['a low-rank optimizer', { states: { lowRank: { rank: 64 } } }, 'natural-galore custom'],
  [
    'optimizer lion',
    { states: { optimizer: 'lion' } },
    'megatron-lm megatron-bridge deepspeed megatron-deepspeed mindspeed flagscale areal verl nemo-rl zero-bubble vocabulary-parallelism deep-optimizer-states linear-moe custom',
  ],
  [
    'optimizer muon',
    { states: { optimizer: 'muon' } },
    'megatron-lm megatron-bridge deepspeed megatron-deepspeed mindspeed flagscale areal verl nemo-rl zero-bubble vocabulary-parallelism deep-optimizer-states linear-moe custom',
  ],
  [
    'optimizer lamb',
    { states: { optimizer: 'lamb' } },
    'deepspeed megatron-deepspeed colossalai libai deep-optimizer-states custom',
  ],
  ['optimizer galore', { states: { optimizer: 'galore' } }, 'colossalai natural-galore custom'],
  ['optimizer natural-galore', { states: { optimizer: 'natural-galore' } }, 'natural-galore custom'],
  ['optimizer mezo-sgd', { states: { optimizer: 'mezo-sgd' } }, 'zo2'],
  [
    'full recomputation',
    { memory: { recompute: { mode: 'full' } } },
    'megatron-lm megatron-bridge torchtitan torchtitan-toml deepspeed megatron-deepspeed galvatron mindspeed mindformers flagscale colossalai libai areal verl nemo-rl zero-bubble vocabulary-parallelism deep-optimizer-states linear-moe hugging-face custom',
  ],
  [
    'offload parameters',
    { memory: { offload: [{ what: 'parameters' }] } },
    'torchtitan torchtitan-toml deepspeed megatron-deepspeed deep-optimizer-states custom',
  ],
  [
    'offload activations',
    { memory: { offload: [{ what: 'activations' }] } },
    'megatron-lm megatron-bridge deepspeed megatron-deepspeed mindspeed flagscale areal verl nemo-rl zero-bubble vocabulary-parallelism deep-optimizer-states linear-moe custom',
  ],
  ['offload layers', { memory: { offload: [{ what: 'layers' }] } }, 'zo2'],
  [
    'offload optimizer',
    { memory: { offload: [{ what: 'optimizer' }] } },
    'megatron-lm megatron-bridge deepspeed megatron-deepspeed mindspeed flagscale colossalai areal verl nemo-rl zero-bubble vocabulary-parallelism deep-optimizer-states linear-moe custom',
  ],
  [
    'subgroups of the optimizer',
    { memory: { offload: [{ what: 'optimizer', subgroupElements: 1000000 }] } },
    'deepspeed megatron-deepspeed deep-optimizer-states',
  ],
  ['activation buffers that layers take in turns', { memory: { roundingBuffers: 2 } }, ''],
  [
    'a network of its own for data parallelism',
    { communication: { groupNetwork: { data: 'roce' } } },
    'megatron-lm megatron-bridge galvatron mindspeed mindformers flagscale colossalai areal verl nemo-rl zero-bubble vocabulary-parallelism linear-moe custom',
  ],
  [
    'dispatcher allgather',
    { expert: { expertParallelDegree: 2, dispatcher: 'allgather' } },
    'megatron-lm megatron-bridge galvatron mindspeed flagscale areal verl nemo-rl zero-bubble vocabulary-parallelism linear-moe custom',
  ],
  ['dispatcher alltoall-2d', { expert: { expertParallelDegree: 2, dispatcher: 'alltoall-2d' } }, 'custom'],
  [
    'dispatcher hybridep',
    { expert: { expertParallelDegree: 2, dispatcher: 'hybridep' } },
    'megatron-lm megatron-bridge torchtitan torchtitan-toml galvatron mindspeed flagscale areal verl nemo-rl zero-bubble vocabulary-parallelism linear-moe custom',
  ],
  [
    'dispatcher deepep',
    { expert: { expertParallelDegree: 2, dispatcher: 'deepep' } },
    'megatron-lm megatron-bridge torchtitan torchtitan-toml galvatron mindspeed flagscale areal verl nemo-rl zero-bubble vocabulary-parallelism linear-moe custom',
  ],
  [
    'dispatcher ncclep',
    { expert: { expertParallelDegree: 2, dispatcher: 'ncclep' } },
    'megatron-lm megatron-bridge galvatron mindspeed flagscale areal verl nemo-rl zero-bubble vocabulary-parallelism linear-moe custom',
  ],
  [
    'balance bias',
    { expert: { expertParallelDegree: 2, balance: 'bias' } },
    'megatron-lm megatron-bridge torchtitan torchtitan-toml mindspeed flagscale areal verl nemo-rl zero-bubble vocabulary-parallelism linear-moe custom',
  ],
  ['balance adaptive-degree', { expert: { expertParallelDegree: 2, balance: 'adaptive-degree' } }, 'custom'],
  ['balance sparse-materialization', { expert: { expertParallelDegree: 2, balance: 'sparse-materialization' } }, ''],
  ['attention flex', { kernel: { attention: 'flex' } }, 'torchtitan torchtitan-toml custom'],
  [
    'attention fused',
    { kernel: { attention: 'fused' } },
    'megatron-lm megatron-bridge galvatron mindspeed mindformers flagscale colossalai libai areal verl nemo-rl zero-bubble vocabulary-parallelism linear-moe custom',
  ],
  [
    'precision fp8',
    { kernel: { precision: 'fp8' } },
    'megatron-lm megatron-bridge torchtitan torchtitan-toml galvatron mindspeed mindformers flagscale colossalai libai areal verl nemo-rl zero-bubble vocabulary-parallelism linear-moe custom',
  ],
  [
    'precision nvfp4',
    { kernel: { precision: 'nvfp4' } },
    'megatron-lm megatron-bridge galvatron mindspeed mindformers flagscale colossalai libai areal verl nemo-rl zero-bubble vocabulary-parallelism linear-moe custom',
  ],
  [
    'precision fp16',
    { kernel: { precision: 'fp16' } },
    'megatron-lm megatron-bridge deepspeed megatron-deepspeed galvatron mindspeed mindformers flagscale colossalai libai areal verl nemo-rl zero-bubble vocabulary-parallelism deep-optimizer-states linear-moe hugging-face custom',
  ],
  [
    'format torch_dist',
    { checkpointPolicy: { format: 'torch_dist' } },
    'megatron-lm megatron-bridge mindspeed flagscale colossalai areal verl nemo-rl zero-bubble vocabulary-parallelism linear-moe custom',
  ],
  ['format dcp', { checkpointPolicy: { format: 'dcp' } }, 'torchtitan torchtitan-toml rcm custom'],
  [
    'format deepspeed-universal',
    { checkpointPolicy: { format: 'deepspeed-universal' } },
    'deepspeed megatron-deepspeed deep-optimizer-states',
  ],
  ['format bytecheckpoint', { checkpointPolicy: { format: 'bytecheckpoint' } }, 'custom'],
  ['format galvatron', { checkpointPolicy: { format: 'galvatron' } }, 'galvatron'],
  ['format mindspore', { checkpointPolicy: { format: 'mindspore' } }, 'mindformers'],
  ['layers that are divided in ways of their own', { perLayer: [{ recompute: true }] }, 'galvatron custom'],
  [
    'placements of tensors',
    { tensorPlacements: [{ match: '*', axes: [{ axis: 'tensor', placement: 'split' }] }] },
    'mindformers libai redco custom',
  ],
];

describe('of all engines', () => {
  it.each(able)('those that can be told %s', (_what, layout, engines) => {
    const can = LAYOUT_ENGINES.filter((engine) => engineSupport(engine, aLayout(layout)).kind === 'supported');
    expect(can.join(' ')).toBe(engines);
  });

  it.each(LAYOUT_ENGINES)(
    '%s is among those that can do something of this table, and cannot do all of it',
    (engine) => {
      const can = able.filter(([, layout]) => engineSupport(engine, aLayout(layout)).kind === 'supported');
      expect(can.length).toBeGreaterThan(0);
      expect(can.length).toBeLessThan(able.length);
    },
  );
});

describe('the advice of a refusal', () => {
  const other = able.flatMap(([what, layout]) =>
    LAYOUT_ENGINES.flatMap((engine) => {
      const outcome = engineSupport(engine, aLayout(layout));
      return outcome.kind === 'supported'
        ? []
        : outcome.refusals.map((refusal) => ({ what, engine, layout, ...refusal }));
    }),
  );

  it('names other engines that take the option', () => {
    // libai lists the checkpoint formats of Megatron-LM but takes no format, so its refusal asks others for any format.
    const answerable = other.filter(({ engine, option }) => engine !== 'libai' || option !== 'checkpointPolicy.format');
    const named = answerable.flatMap(({ layout, option, fallback }) => {
      const [, engines] = fallback.split(', or engine ');
      return (engines?.split(' or ') ?? []).map((engine) => ({ engine, layout, option }));
    });
    expect(named.length).toBeGreaterThan(200);
    const refused = named.filter(
      ({ engine, layout, option }) => refusalsOf(engine as LayoutEngine, layout, option).length > 0,
    );
    expect(refused).toEqual([]);
  });

  it('never names the engine that refuses, nor one of the user’s own', () => {
    const wrong = other.filter(({ engine, fallback }) => {
      const named = fallback.split(', or engine ')[1]?.split(' or ') ?? [];
      return named.some((name) => [engine, 'command', 'custom', 'reference'].includes(name));
    });
    expect(wrong).toEqual([]);
  });

  it('names no engine where it says that none can', () => {
    const none = other.filter(({ reason }) => reason.startsWith('no public engine'));
    expect(new Set(none.map(({ option }) => option))).toEqual(
      new Set([
        'pipeline.schedule',
        'sequence.contextAlgorithm',
        'memory.roundingBuffers',
        'expert.dispatcher',
        'expert.balance',
        'checkpointPolicy.format',
      ]),
    );
    expect(none.filter(({ fallback }) => fallback.includes('engine ') && !fallback.includes('engine.args'))).toEqual(
      [],
    );
  });
});

describe('a row of the table agrees with the answers: an engine with the option takes just the listed', () => {
  it.each(LAYOUT_ENGINES)('ZeRO stages, by %s', (engine) => {
    const row = ENGINE_CAPABILITIES[engine];
    const taken = [0, 1, 2, 3].filter(
      (zeroStage) => refusalsOf(engine, { states: { zeroStage } }, 'states.zeroStage').length === 0,
    );
    expect(taken).toEqual(row.options.includes('states.zeroStage') ? row.zeroStages : []);
  });

  it.each(LAYOUT_ENGINES)('offloading, by %s', (engine) => {
    const row = ENGINE_CAPABILITIES[engine];
    const all = ['optimizer', 'parameters', 'activations', 'layers'] as const;
    const taken = all.filter(
      (what) => refusalsOf(engine, { memory: { offload: [{ what }] } }, 'memory.offload.what').length === 0,
    );
    expect(taken).toEqual(
      row.options.includes('memory.offload.what') ? all.filter((what) => row.offloads.includes(what)) : [],
    );
  });

  it.each(LAYOUT_ENGINES)('recomputation, by %s', (engine) => {
    const modes = ['none', 'selective', 'full', 'budget'] as const;
    const taken = modes.filter(
      (mode) => refusalsOf(engine, { memory: { recompute: { mode } } }, 'memory.recompute.mode').length === 0,
    );
    expect(taken).toEqual(ENGINE_CAPABILITIES[engine].options.includes('memory.recompute') ? modes : []);
  });

  it.each(LAYOUT_ENGINES)('no list of %s names a thing twice', (engine) => {
    const lists = Object.values(ENGINE_CAPABILITIES[engine]).filter((list) => Array.isArray(list));
    expect(lists.length).toBeGreaterThan(10);
    expect(lists.filter((list) => new Set<unknown>(list).size !== list.length)).toEqual([]);
  });
});
