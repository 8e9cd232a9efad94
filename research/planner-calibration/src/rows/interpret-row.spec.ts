/** More than 400 lines: a table of published rows, with the run that each is read as. */
import type { RunFacts } from '@coxswain/planner';
import fc from 'fast-check';
import { COLUMNS, MOE, PLAIN, rowWith, runOf } from '../testing/invented-rows.ts';
import { interpretRow } from './interpret-row.ts';

function reasonOf(change: Readonly<Record<string, string>>): string {
  const result = interpretRow(rowWith(change));
  return 'unpredicted' in result ? result.unpredicted : 'predicted';
}

function filledOf(change: Readonly<Record<string, string>>): readonly string[] {
  const result = interpretRow(rowWith(change));
  return 'filled' in result ? result.filled : [];
}

const MOE_ENGINE = {
  ...MOE,
  engine: 'Megatron-Bridge/MCore (NeMo container 26.06)',
  gpu: 'B200-SXM',
  precision: 'mxfp8',
};

describe('a row becomes a run', () => {
  it('with its sizes, cluster and layout', () => {
    const run = runOf({});
    expect(run).toMatchObject({
      stack: 'megatron-lm 2021',
      precision: 'fp16',
      flashAttention: false,
      gradientBytes: 2,
      globalBatchSize: 64,
      sequenceLength: 2048,
      model: {
        layers: 24,
        hiddenSize: 2048,
        headDim: 128,
        gatedMlp: false,
        dropout: true,
        tiedEmbeddings: true,
        learnedPositions: 2048,
      },
      cluster: { gpus: 16, gpusPerNode: 8, scaleOutGbPerS: 25, nicKind: 'infiniband' },
      candidate: {
        tensor: 2,
        pipeline: 2,
        data: 4,
        context: 1,
        microBatchSize: 2,
        schedule: '1f1b',
        chunks: 1,
        recompute: 'full',
        zeroStage: 0,
      },
    });
    expect(run.candidate.stages).toBeUndefined();
  });

  it.each<[string, Record<string, string>, (run: RunFacts) => unknown, unknown]>([
    [
      'interleaved by vpp',
      { vpp: '4' },
      (run) => [run.candidate.schedule, run.candidate.chunks],
      ['interleaved-1f1b', 4],
    ],
    [
      'zero-bubble by engine',
      { engine: 'Megatron-LM + zero-bubble / ZB-1p' },
      (run) => run.candidate.schedule,
      'zb-h1',
    ],
    [
      '1F1B of a zero-bubble engine',
      { engine: 'Megatron-LM + zero-bubble / 1F1B' },
      (run) => run.candidate.schedule,
      '1f1b',
    ],
    [
      'two chunks of V-Half',
      { engine: 'Megatron-LM V-Half / Vocab1' },
      (run) => [run.candidate.schedule, run.candidate.chunks],
      ['v-half', 2],
    ],
    ['a schedule in a note', { notes: 'schedule ZB-2p; 24 microbatches' }, (run) => run.candidate.schedule, 'zb-2p'],
    [
      'an overlap that is no schedule',
      { vpp: '2', notes: 'w/ MTP, DeepEP, 1F1B overlap' },
      (run) => run.candidate.schedule,
      'interleaved-1f1b',
    ],
    [
      'two barriers of Vocab1',
      { engine: 'Megatron-LM 1F1B / Vocab1' },
      (run) => [run.candidate.vocabulary, run.candidate.vocabularyBarriers],
      ['sharded-over-pp', 2],
    ],
    [
      'one barrier of Vocab2',
      { engine: 'Megatron-LM 1F1B / Vocab2' },
      (run) => [run.candidate.vocabulary, run.candidate.vocabularyBarriers],
      ['sharded-over-pp', 1],
    ],
    [
      'the method, not the legend',
      { engine: 'Megatron-LM 1F1B / Interlaced', notes: 'vocabulary method Interlaced (Base=ends; Vocab1/2=parallel)' },
      (run) => run.candidate.vocabulary,
      'interlaced',
    ],
    [
      'FlashAttention in a note',
      { notes: 'FlashAttention; activation CPU offload False' },
      (run) => [run.flashAttention, run.candidate.offloadActivations],
      [true, 0],
    ],
    [
      'unfused attention in a note',
      { engine: 'InternEvo', notes: 'matches unfused attention, i.e. no FlashAttention' },
      (run) => run.flashAttention,
      false,
    ],
    [
      'offloaded layers',
      { offload_detail: 'activation CPU offload of 12 layers' },
      (run) => run.candidate.offloadActivations,
      0.5,
    ],
    [
      'an offloaded optimizer',
      { offload_detail: 'optimizer offload 25%' },
      (run) => run.candidate.offloadOptimizer,
      0.25,
    ],
    [
      'recomputed modules',
      { recompute: 'selective', recompute_detail: 'layernorm+moe_act' },
      (run) => run.candidate.recomputeModules,
      ['layernorm', 'moe_act'],
    ],
    ['selective without a list', { recompute: 'selective' }, (run) => run.candidate.recomputeModules, ['core_attn']],
    [
      'recomputed blocks',
      { recompute: 'full', recompute_detail: 'block:5 layer(s) per pipeline chunk only' },
      (run) => run.candidate.recomputeLayersPerChunk,
      5,
    ],
    [
      'hybrid ZeRO groups',
      {
        engine: 'InternEvo',
        tp: '1',
        pp: '1',
        dp: '16',
        zero_stage: '1',
        notes: 'optimizer states sharded over 8 (hybrid)',
      },
      (run) => [run.candidate.shardGroup, run.candidate.zeroImplementation],
      [8, 'deepspeed'],
    ],
    [
      'HSDP: sharded in a node, replicated across nodes',
      { engine: 'TorchTitan (2025) HSDP', tp: '1', pp: '1', dp: '16', zero_stage: '' },
      (run) => [run.candidate.zeroStage, run.candidate.shardGroup],
      [3, 8],
    ],
    [
      'HSDP beside tensor parallelism',
      { engine: 'TorchTitan (2025)', notes: 'HSDP', tp: '2', pp: '1', dp: '8', zero_stage: '3' },
      (run) => run.candidate.shardGroup,
      4,
    ],
    [
      'HSDP of a stated size',
      { engine: 'TorchTitan (2025)', notes: 'HSDP, dp_shard=4', tp: '1', pp: '1', dp: '16', zero_stage: '3' },
      (run) => run.candidate.shardGroup,
      4,
    ],
    [
      'checkpointing by operator: two layers in five',
      { engine: 'TorchTitan (2025)', recompute: 'selective op', tp: '1', pp: '1', dp: '16' },
      (run) => [run.candidate.recompute, run.candidate.recomputeLayersPerChunk, run.candidate.recomputeModules],
      ['full', 10, []],
    ],
    [
      'selective checkpointing that names no operators',
      { engine: 'TorchTitan (2025)', recompute: 'selective', recompute_detail: 'core_attn' },
      (run) => [run.candidate.recompute, run.candidate.recomputeModules],
      ['selective', ['core_attn']],
    ],
    ['asynchronous tensor parallelism', { notes: 'async TP' }, (run) => run.candidate.overlapTensor, true],
    [
      'data parallelism outermost',
      { notes: 'layout from config_GB200_128x4_cg_dplast.sh' },
      (run) => run.candidate.rankOrder,
      'tp-cp-pp-dp',
    ],
    ['a spelling of a precision', { gpu: 'B200-SXM', precision: 'FP8-MX' }, (run) => run.precision, 'mxfp8'],
    ['a node without NVLink', { intra_node_link: 'PCIe' }, (run) => run.cluster.gpu.scaleUpGbPerS, 32],
    ['a dp that the GPUs contradict', { dp: '3' }, (run) => run.candidate.data, 4],
    ['LoRA', { engine: 'NeMo launcher (24.x) LoRA' }, (run) => run.loraRank, 16],
    ['8-bit moments', { engine: 'Megatron-DeepSpeed BNB 8-bit Adam' }, (run) => run.momentBytes, 2],
    [
      'fp4 by the name of a configuration',
      {
        engine: 'NeMo/MCore (MLPerf 5.1)',
        gpu: 'GB200-NVL72',
        precision: '',
        notes: 'layout from config_GB200_2x4x2_fp4.sh',
      },
      (run) => run.precision,
      'nvfp4',
    ],
    [
      'fp4 by a name with hyphens',
      {
        engine: 'NeMo/MCore (MLPerf 5.1)',
        gpu: 'B200-SXM',
        precision: '',
        notes: 'layout from config_1xXE9680Lx8B200-SXM-180GB-fp4.sh',
      },
      (run) => run.precision,
      'nvfp4',
    ],
    [
      'CUDA graphs by the name of a configuration',
      { engine: 'NeMo/MCore (MLPerf 5.1)', notes: 'layout from config_DGXB200_8x8_cg.sh' },
      (run) => run.candidate.cudaGraphs,
      'full',
    ],
    [
      'partial CUDA graphs',
      { ...MOE_ENGINE, notes: "cuda_graph=transformer_engine:['attn', 'moe_router'], dispatcher=hybridep" },
      (run) => [run.candidate.cudaGraphs, run.candidate.dispatcher],
      ['partial', 'hybridep'],
    ],
    [
      'CUDA graphs that are said to be partial',
      { ...MOE_ENGINE, notes: 'partial CUDA graphs' },
      (run) => run.candidate.cudaGraphs,
      'partial',
    ],
    [
      'CUDA graphs of named parts',
      { ...MOE_ENGINE, notes: 'CUDA graphs (attn+moe_router), HybridEP' },
      (run) => run.candidate.cudaGraphs,
      'partial',
    ],
    [
      'CUDA graphs of no implementation',
      { ...MOE_ENGINE, notes: 'cuda_graph=none:full_iteration' },
      (run) => run.candidate.cudaGraphs,
      'none',
    ],
    [
      'experts that SimuMax pads to an even share',
      { ...MOE, notes: 'SimuMax predicted 343.59 ms (-6.28%)' },
      (run) => run.candidate.expertCapacity,
      1,
    ],
    [
      'what partial CUDA graphs hold',
      { ...MOE, notes: "cuda_graph=transformer_engine:['mamba', 'moe_router', 'moe_preprocess']" },
      (run) => run.candidate.graphedParts,
      ['stateSpace', 'router'],
    ],
    ['dropped tokens', { ...MOE, notes: 'tokendrop; router force-balanced' }, (run) => run.candidate.expertCapacity, 1],
    [
      'no dropped tokens',
      { ...MOE, notes: 'router force-balanced, dropless' },
      (run) => run.candidate.expertCapacity,
      undefined,
    ],
    ['a head width by name', MOE, (run) => run.model.headDim, 128],
    [
      'overlapped all-to-all',
      { ...MOE, notes: 'EP a2a overlap on, dispatcher=deepep' },
      (run) => [run.candidate.overlapExpert, run.candidate.dispatcher],
      [true, 'deepep'],
    ],
  ])('%s', (_, change, read, expected) => {
    expect(read(runOf(change))).toEqual(expected);
  });

  it('takes experts, latent attention and dense layers from note and name', () => {
    const run = runOf({
      model: 'DeepSeek-V3',
      layers: '61',
      hidden: '7168',
      heads: '128',
      kv_heads: '128',
      ffn_hidden: '2048',
      vocab: '129280',
      experts: '256',
      topk: '8',
      pp: '2',
      vpp: '8',
      dp: '4',
      ep: '4',
      notes:
        'MLA attention; 3 dense layers ffn 18432; 1 shared expert; ffn_hidden is per-expert; pp_layout=Et*4|(t*4|)*14tmL',
    });
    expect(run.model).toMatchObject({
      ffnHiddenSize: 18432,
      mtpLayers: 1,
      experts: { count: 256, ffnHiddenSize: 2048, sharedFfnHiddenSize: 2048, denseLayers: 3 },
      latentAttention: { keyValueRank: 512 },
    });
    expect(run.candidate.stages?.map((stage) => stage.layers)).toEqual([...Array.from({ length: 15 }, () => 4), 1]);
    expect(runOf({ ...MOE, model: 'DeepSeek-V3', notes: 'w/o MTP' }).model.mtpLayers).toBe(0);
  });

  it.each([
    ['inherits no multi-token prediction', 'truncated-depth proxy (4 layers)', 0],
    ['has it where it is stated', 'truncated-depth proxy (4 layers); w/ MTP', 1],
  ])('a proxy of a preset %s', (_, notes, mtpLayers) => {
    const proxy = { ...MOE, layers: '4', heads: '128', kv_heads: '128', model: 'DeepSeek-V3-proxy-4L', ep: '8' };
    expect(runOf({ ...proxy, tp: '1', pp: '1', dp: '16', notes }).model).toMatchObject({ layers: 4, mtpLayers });
  });

  it.each([
    ['Megatron-LM', false],
    ['Megatron-LM (2025)', false],
    ['Megatron-LM (2022)', true],
    ['Megatron-Core (23e00ed0, TE 2.11)', false],
    ['Composer/PyTorch FSDP', true],
    ['PyTorch 2.11 eager', false],
    ['PyTorch 2.1', true],
  ])('of %s runs attention written for Ampere: %s', (engine, expected) => {
    expect(runOf({ engine, gpu: 'H100-SXM5-80GB' }).ampereFlashAttention ?? false).toBe(expected);
  });

  it.each([
    ['FlashAttention 1 (Triton)', { firstFlashAttention: true, flashAttention: true }],
    ['unpacked samples; FlashAttention 1.0.5', { firstFlashAttention: true, flashAttention: true }],
    ['FlashAttention 2', { firstFlashAttention: undefined, flashAttention: true }],
    ['TF32 products', { tf32: true }],
    ['', { firstFlashAttention: undefined, tf32: undefined }],
  ])('reads kernels from the note "%s"', (notes, expected) => {
    const { firstFlashAttention, flashAttention, tf32 } = runOf({ engine: 'Composer/PyTorch FSDP', notes });
    expect({ firstFlashAttention, flashAttention, tf32 }).toMatchObject(expected);
  });

  it.each([
    ['', true],
    ['schedule 1F1B; no dropout', false],
  ])('of a GPT on an undated engine, with the note "%s", has dropout: %s', (notes, dropout) => {
    expect(runOf({ model: 'GPT-4B', engine: 'Megatron-LM 1F1B / Base', notes }).model.dropout).toBe(dropout);
  });

  it('takes sizes from the model’s name where none are printed', () => {
    const sizes = { layers: '', hidden: '', heads: '', kv_heads: '', ffn_hidden: '', vocab: '' };
    const change = { ...sizes, model: 'Nemotron-3-Nano-30B-A3B', tp: '1', pp: '1', dp: '16', ep: '8' };
    expect(runOf(change).model).toMatchObject({ layers: 52, hiddenSize: 2688, experts: { count: 128 } });
    expect(filledOf(change)).toContain('model sizes by name');
  });
});

describe('layers that do not divide', () => {
  const layersOf = (change: Record<string, string>): readonly number[] | undefined =>
    runOf({ gpus: '8', tp: '1', dp: '1', mbs: '1', gbs: '64', pp: '8', ...change }).candidate.stages?.map(
      (stage) => stage.layers,
    );

  it.each<[string, Record<string, string>, readonly number[] | undefined]>([
    ['divide: no stages are stated', { layers: '24' }, undefined],
    ['embedding and loss count as a layer each', { layers: '30' }, [3, 4, 4, 4, 4, 4, 4, 3]],
    ['the last stage takes what is left', { layers: '61' }, [8, 8, 8, 8, 8, 8, 8, 5]],
    ['nothing is left for the last, and the first holds fewer', { layers: '13' }, [1, 2, 2, 2, 2, 2, 2, 0]],
    ['too few would be left: the first stages hold one more', { layers: '9' }, [2, 1, 1, 1, 1, 1, 1, 1]],
    [
      'the ends hold one fewer',
      { layers: '22', notes: 'first and last stages hold one layer fewer' },
      [2, 3, 3, 3, 3, 3, 3, 2],
    ],
    [
      'units per stage',
      { pp: '4', gpus: '4', layers: '24', notes: 'layers per stage (incl. embedding/head) [5, 7, 7, 7]' },
      [4, 7, 7, 6],
    ],
    [
      'layers move away from a large vocabulary, to the stages before the last',
      { layers: '32', hidden: '3072', heads: '24', vocab: '262144', engine: 'Megatron-LM 1F1B / Redis' },
      [4, 4, 4, 5, 5, 5, 5, 0],
    ],
  ])('%s', (_, change, expected) => {
    expect(layersOf(change)).toEqual(expected);
  });
});

describe('what is filled is counted', () => {
  interface Filling {
    readonly what: string;
    readonly change: Record<string, string>;
    readonly rule: string;
    readonly read: (run: RunFacts) => unknown;
    readonly expected: unknown;
  }
  const h100 = { engine: 'NeMo/MCore (MLPerf 5.0)', gpu: 'H100-SXM5-80GB', precision: '' };
  const modern = { engine: 'NeMo launcher (24.x)' };
  const precision = { rule: 'precision by engine and GPU', read: (run: RunFacts) => run.precision };
  const sp = { rule: 'sp by engine', read: (run: RunFacts) => run.candidate.sequenceParallel };

  it.each<Filling>([
    { what: 'dp', change: { dp: '' }, rule: 'dp = gpus / (tp pp cp)', read: (run) => run.candidate.data, expected: 4 },
    { what: 'cp', change: { cp: '' }, rule: 'cp = 1', read: (run) => run.candidate.context, expected: 1 },
    { what: 'vpp', change: { vpp: '' }, rule: 'vpp = 1', read: (run) => run.candidate.chunks, expected: 1 },
    { what: 'sp of an early engine', change: { sp: '' }, ...sp, expected: false },
    { what: 'sp of a modern engine', change: { sp: '', ...modern }, ...sp, expected: true },
    {
      what: 'ZeRO stage',
      change: { zero_stage: '', ...modern },
      rule: 'zero_stage by engine',
      read: (run) => run.candidate.zeroStage,
      expected: 1,
    },
    {
      what: 'recompute',
      change: { recompute: '' },
      rule: 'recompute = none',
      read: (run) => run.candidate.recompute,
      expected: 'none',
    },
    {
      what: 'precision of an old GPU',
      change: { precision: '', gpu: 'V100-SXM2-16GB' },
      ...precision,
      expected: 'fp16',
    },
    { what: 'precision', change: { precision: '' }, ...precision, expected: 'bf16' },
    { what: 'precision of MLPerf', change: h100, ...precision, expected: 'fp8' },
    {
      what: 'network',
      change: { inter_node_link: '' },
      rule: 'scale-out network by GPU',
      read: (run) => run.cluster.scaleOutGbPerS,
      expected: 25,
    },
    {
      what: 'batch',
      change: { gbs: '', notes: '8 microbatches' },
      rule: 'gbs = mbs x dp x micro-batches',
      read: (run) => run.globalBatchSize,
      expected: 64,
    },
    {
      what: 'heads',
      change: { heads: '', kv_heads: '', hidden: '2304', ffn_hidden: '9216' },
      rule: 'heads by width',
      read: (run) => [run.model.attentionHeads, run.model.keyValueHeads],
      expected: [24, 24],
    },
    {
      what: 'vocabulary',
      change: { vocab: '' },
      rule: 'vocab = 50304',
      read: (run) => run.model.vocabularySize,
      expected: 50304,
    },
  ])('$what', ({ change, rule, read, expected }) => {
    expect(filledOf(change)).toContain(rule);
    expect(read(runOf(change))).toEqual(expected);
  });

  it('does not count what is stated', () => {
    expect(filledOf({})).toEqual(['flash attention by engine']);
    expect(filledOf({ vocab: '', notes: 'tflops computed with vocab 50257 assumed' })).not.toContain('vocab = 50304');
  });
});

describe('a row that cannot be predicted says why', () => {
  it.each<[Record<string, string>, string]>([
    [{ tp: '' }, 'tp is not published'],
    [{ tp: '1.5' }, 'tp is not a whole number'],
    [{ tp: '-2' }, 'tp is not a whole number'],
    [{ gpus: '1e30' }, 'gpus is not a whole number'],
    [{ gbs: '' }, 'gbs is not published'],
    [{ gbs: '63' }, 'gbs is not a multiple of mbs x dp'],
    [{ dp: '', gpus: '15' }, 'gpus is not a multiple of tp x pp x cp'],
    [{ gpu: 'abacus' }, 'GPU "abacus" is not known'],
    [
      { gpu: 'RTX-2080+RTX-3090' },
      '"RTX-2080+RTX-3090" are several types of GPU, and which one has which ranks is not read',
    ],
    [{ gpu: '' }, 'GPU is not known'],
    [{ layers: '' }, 'layers of the model is not published'],
    [{ precision: 'int3' }, 'precision has an unknown value'],
    [{ precision: 'fp8' }, 'the GPU has no fp8'],
    [{ recompute: 'sometimes' }, 'recompute has an unknown value'],
    [{ experts: '8' }, 'topk is not published'],
    [{ ...MOE, ep: '3' }, 'ep x etp does not divide the GPUs of a stage'],
    [{ notes: 'pp_layout=Et|t|tL' }, 'the stated stage layout has another number of stages than pp x vpp'],
    [{ notes: 'pp_layout=Et|tL' }, 'the stated stage layout has another number of layers than the model'],
    [{ notes: 'pp_layout=E?|tL' }, 'pipeline layout E?|tL: only E, t, m, L, |, *n and parentheses are known'],
  ])('%j: %s', (change, reason) => {
    expect(reasonOf(change)).toBe(reason);
  });

  it('whatever stands in the cells', () => {
    const cell = fc.oneof(
      fc.string(),
      fc.integer().map(String),
      fc.double().map(String),
      fc.constantFrom('', '0', '1', '8', '1e9', 'none', 'OOM'),
    );
    const columns = COLUMNS.filter((column) => !['id', 'iter_time_s', 'mem_per_gpu_gib'].includes(column));
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...columns), cell, { maxKeys: 6 }), (change) => {
        const result = interpretRow(rowWith({ ...PLAIN, ...change }));
        expect('run' in result || result.unpredicted.length > 0).toBe(true);
      }),
    );
  });
});
