import type { ParallelLayout } from '@coxswain/layout';
import {
  all,
  beside,
  CAPABILITIES,
  type Change,
  changesOf,
  degrees,
  experts,
  over,
  release,
  setting,
} from './testing/index.ts';
const kernel = (values: NonNullable<ParallelLayout['kernel']>): Change => over('kernel', values);
const exchanged = CAPABILITIES['experts by all-to-all'] ?? experts;
const HYBRID_EP = CAPABILITIES['experts by HybridEP'] ?? experts;

it.each<[string, Change, readonly string[]]>([
  ['a backend of attention', kernel({ attention: 'fused' }), ['--attention-backend fused']],
  ['a softmax with a constant', kernel({ softmax: 'off-by-one' }), ['--softmax-type off-by-one']],
  [
    'fp16, in which weights are too',
    kernel({ precision: 'fp16' }),
    ['--fp16', 'note: weights are fp16 too, as Megatron-LM has it', 'without --bf16'],
  ],
  ['fp8, scaled tensor by tensor', kernel({ precision: 'fp8' }), ['--fp8-format hybrid', '--fp8-recipe tensorwise']],
  [
    'fp8, scaled by earlier steps',
    kernel({ precision: 'fp8', scaling: 'delayed' }),
    ['--fp8-format hybrid', '--fp8-recipe delayed'],
  ],
  ['a loss in one kernel', kernel({ fusedLoss: true }), ['--cross-entropy-loss-fusion']],
  [
    'no scaling of other formats',
    kernel({ scaling: 'delayed' }),
    [
      'scaling-is-of-fp8',
      'layout.kernel.scaling',
      'kernel.scaling delayed is of fp8, and kernel.precision is bf16',
      'leave it out, or set kernel.precision to fp8',
    ],
  ],
  [
    'no compiled model',
    kernel({ compile: true }),
    [
      'no-compiled-model',
      'layout.kernel.compile',
      'Megatron-LM has fused kernels of its own, and does not compile the model',
      'leave it out, or use engine torchtitan',
    ],
  ],
  ['mxfp8', kernel({ precision: 'mxfp8' }), ['--fp8-format e4m3', '--fp8-recipe mxfp8']],
  ['nvfp4', kernel({ precision: 'nvfp4' }), ['--fp4-format e2m1', '--fp4-recipe nvfp4']],
  [
    'the same numbers in each run',
    kernel({ deterministic: true }),
    ['--deterministic-mode', 'NCCL_ALGO=Ring', 'NVTE_ALLOW_NONDETERMINISTIC_ALGO=0', 'CUBLAS_WORKSPACE_CONFIG=:4096:8'],
  ],
  [
    'a sliding mask of a model that has windows',
    all(setting('model', { attentionWindow: 512, windowedLayers: 8 }), kernel({ attentionMask: 'sliding' })),
    ['--window-size 511,0'],
  ],
  [
    'a full mask of the program of BERT',
    all(setting('engine', { command: ['python3', 'pretrain_bert.py'] }), kernel({ attentionMask: 'full' })),
    ['python3 pretrain_bert.py', 'without python3 pretrain_gpt.py'],
  ],
  [
    'any mask of a program of the user, in a note',
    all(setting('engine', { command: ['python3', 'mine.py'] }), kernel({ attentionMask: 'document' })),
    [
      'python3 mine.py',
      'note: which mask attention has is decided by the program that engine.command names',
      'without python3 pretrain_gpt.py',
    ],
  ],
  ['graphs of layers', kernel({ cudaGraphs: 'partial' }), ['--cuda-graph-impl transformer_engine']],
  [
    'graphs of whole steps',
    kernel({ cudaGraphs: 'full' }),
    ['--cuda-graph-impl full_iteration', '--no-check-for-nan-in-loss-and-grad'],
  ],
  [
    'graphs of whole steps before core_v0.18',
    all(release('core_v0.17.1'), kernel({ cudaGraphs: 'full' })),
    ['--cuda-graph-impl local', '--cuda-graph-scope full_iteration', '--no-check-for-nan-in-loss-and-grad'],
  ],
])('kernels become options of Megatron-LM: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});

it.each<[string, Change, readonly string[]]>([
  [
    'graphs of layers with experts',
    all(exchanged, kernel({ cudaGraphs: 'partial' })),
    ['--cuda-graph-impl transformer_engine', '--cuda-graph-modules attn moe_router moe_preprocess'],
  ],
  [
    'graphs of layers with experts before core_v0.16, of attention alone',
    all(release('core_v0.15.3'), exchanged, kernel({ cudaGraphs: 'partial' })),
    ['--cuda-graph-impl transformer_engine', '--cuda-graph-scope attn'],
  ],
  [
    'graphs of layers whose experts wait for a capacity',
    all(CAPABILITIES['experts that drop'] ?? experts, exchanged, kernel({ cudaGraphs: 'partial' })),
    [
      '--moe-expert-capacity-factor 1.5',
      '--moe-token-drop-policy position',
      '--cuda-graph-impl transformer_engine',
      '--cuda-graph-modules attn moe_router',
    ],
  ],
  [
    'graphs beside dense layers',
    all(
      exchanged,
      setting('model', { experts: { count: 8, topK: 2, ffnHiddenSize: 1024, denseLayers: 2 } }),
      kernel({ cudaGraphs: 'partial' }),
    ),
    [
      '--moe-layer-freq ([0]*2+[1]*6)',
      '--cuda-graph-impl transformer_engine',
      '--cuda-graph-modules attn mlp moe_router moe_preprocess',
    ],
  ],
  [
    'graphs of whole steps, with room for experts and nothing saved',
    all(HYBRID_EP, beside({ checkpoint: undefined }), kernel({ cudaGraphs: 'full', precision: 'mxfp8' })),
    [
      '--moe-token-dispatcher-type flex',
      '--moe-flex-dispatcher-backend hybridep',
      '--fp8-format e4m3',
      '--fp8-recipe mxfp8',
      '--cuda-graph-impl full_iteration',
      '--no-check-for-nan-in-loss-and-grad',
      '--moe-paged-stash',
      '--moe-expert-rank-capacity-factor 1.5',
      '--use-transformer-engine-op-fuser',
      '--moe-mlp-glu-interleave-size 32',
      'NVTE_CUTEDSL_FUSED_GROUPED_MLP=1',
      'note: the image needs Transformer Engine 2.14 for the fused products of experts',
      'note: each rank has room for 1.5 times the tokens of an even routing: a step in which more come is computed again without the graph',
      'without --moe-token-dispatcher-type alltoall',
      'without --moe-router-load-balancing-type aux_loss',
      'without --moe-aux-loss-coeff 0.01',
      'without --save $(COXSWAIN_SAVE_DIR)',
      'without --save-interval 20',
      'without --exit-signal-handler',
      'without note: the auxiliary loss has the coefficient 0.01 unless engine.args give --moe-aux-loss-coeff',
      'without resumed by --load $(COXSWAIN_RESUME_ROOT) --ckpt-step $(COXSWAIN_RESUME_STEP)',
    ],
  ],
])('kernels beside experts become options of Megatron-LM: %s', (_sentence, change, want) => {
  expect(changesOf(change, exchanged)).toEqual(want);
});

it.each<[string, Change, readonly string[]]>([
  [
    'flex attention',
    kernel({ attention: 'flex' }),
    [
      'attention-of-transformer-engine',
      'layout.kernel.attention',
      'Megatron-LM has no flex attention',
      'use auto, flash, fused or unfused',
    ],
  ],
  [
    'local attention',
    kernel({ attention: 'local' }),
    [
      'attention-of-transformer-engine',
      'layout.kernel.attention',
      'Megatron-LM takes local attention only with a layer specification of its own (--spec local)',
      'use auto, flash, fused or unfused',
    ],
  ],
  [
    'a mask of documents',
    kernel({ attentionMask: 'document' }),
    [
      'mask-of-the-program',
      'layout.kernel.attentionMask',
      'the program of Megatron-LM that is started has a mask that is causal, and a sliding one where model.attentionWindow is given',
      'leave kernel.attentionMask out; --reset-position-ids and --eod-mask-loss in engine.args start positions anew and mask the loss between documents, but tokens still attend across them',
    ],
  ],
  [
    'a full mask of GPT',
    kernel({ attentionMask: 'full' }),
    [
      'mask-of-the-program',
      'layout.kernel.attentionMask',
      'the program of Megatron-LM that is started has a mask that is causal, and a sliding one where model.attentionWindow is given',
      'start pretrain_bert.py by engine.command',
    ],
  ],
  [
    'a sliding mask of a model without windows',
    kernel({ attentionMask: 'sliding' }),
    [
      'mask-of-the-program',
      'layout.kernel.attentionMask',
      'the program of Megatron-LM that is started has a mask that is causal, and a sliding one where model.attentionWindow is given',
      'leave kernel.attentionMask out; --reset-position-ids and --eod-mask-loss in engine.args start positions anew and mask the loss between documents, but tokens still attend across them',
    ],
  ],
  [
    'a causal mask of BERT',
    all(setting('engine', { command: ['python3', 'pretrain_bert.py'] }), kernel({ attentionMask: 'causal' })),
    [
      'mask-of-the-program',
      'layout.kernel.attentionMask',
      'the program of Megatron-LM that is started has a mask that is full, and a sliding one where model.attentionWindow is given',
      'leave kernel.attentionMask out; --reset-position-ids and --eod-mask-loss in engine.args start positions anew and mask the loss between documents, but tokens still attend across them',
    ],
  ],
  [
    'graphs of layers that are computed again',
    all(kernel({ cudaGraphs: 'partial' }), over('memory', { recompute: { mode: 'full' } })),
    [
      'partial-graphs-recompute-within',
      'layout.kernel.cudaGraphs',
      'graphs of parts of a layer end where whole layers would be computed again',
      'use selective recomputation, or none',
    ],
  ],
  [
    'graphs of layers whose experts are computed again',
    all(
      exchanged,
      kernel({ cudaGraphs: 'partial' }),
      over('memory', { recompute: { mode: 'selective', modules: ['moe'] } }),
    ),
    [
      'partial-graphs-recompute-within',
      'layout.kernel.cudaGraphs',
      'graphs of parts of a layer end where moe would be computed again',
      'leave moe out of memory.recompute.modules, or use none',
    ],
  ],
  [
    'a graph of a step whose activations leave',
    all(
      kernel({ cudaGraphs: 'full' }),
      over('memory', { offload: [{ what: 'activations' }], hostMemoryGibPerGpu: 64 }),
    ),
    [
      'whole-graphs-leave-offload',
      'layout.kernel.cudaGraphs',
      'a graph of a whole step cannot wait for activations that are in host memory',
      'use partial, or leave memory.offload of activations out',
    ],
  ],
  [
    'a graph of experts in bf16',
    all(HYBRID_EP, kernel({ cudaGraphs: 'full' })),
    [
      'whole-graphs-give-experts-room',
      'layout.kernel.precision',
      'layout.kernel.cudaGraphs full captures products of experts in mxfp8, not in bf16, which ask the host how many tokens came',
      'use mxfp8, or kernel.cudaGraphs partial',
    ],
  ],
  [
    'a graph of experts whose tokens are exchanged',
    all(exchanged, kernel({ cudaGraphs: 'full', precision: 'mxfp8' })),
    [
      'whole-graphs-give-experts-room',
      'layout.expert.dispatcher',
      'a graph of a whole step needs room for experts that is fixed, which HybridEP alone gives, between ranks',
      'use dispatcher hybridep with expertParallelDegree above 1, or kernel.cudaGraphs partial',
    ],
  ],
  [
    'a graph of experts on one rank',
    all(
      setting('model', { experts: { count: 8, topK: 2, ffnHiddenSize: 1024 } }),
      kernel({ cudaGraphs: 'full', precision: 'mxfp8' }),
    ),
    [
      'whole-graphs-give-experts-room',
      'layout.expert.expertParallelDegree',
      'a graph of a whole step needs room for experts that is fixed, which HybridEP alone gives, between ranks',
      'use dispatcher hybridep with expertParallelDegree above 1, or kernel.cudaGraphs partial',
    ],
  ],
  [
    'a graph of experts whose tensors are split',
    all(
      degrees({ tensorParallelDegree: 2 }),
      HYBRID_EP,
      ({ layout }) => {
        layout.expert = { expertParallelDegree: 4, ...layout.expert, expertTensorParallelDegree: 2 };
      },
      kernel({ cudaGraphs: 'full', precision: 'mxfp8' }),
    ),
    [
      'whole-graphs-give-experts-room',
      'layout.expert.expertTensorParallelDegree',
      'the products of experts in a graph of a whole step do not divide their tensors',
      'set expert.expertTensorParallelDegree to 1, or use kernel.cudaGraphs partial',
    ],
  ],
  [
    'a graph of plain experts',
    all(HYBRID_EP, setting('model', { gatedMlp: false }), kernel({ cudaGraphs: 'full', precision: 'mxfp8' })),
    [
      'whole-graphs-give-experts-room',
      'model.gatedMlp',
      'the products of experts in a graph of a whole step are those of gated experts (SwiGLU)',
      'use kernel.cudaGraphs partial',
    ],
  ],
  [
    'a graph of experts before there is room',
    all(release('core_v0.17.1'), HYBRID_EP, kernel({ cudaGraphs: 'full', precision: 'mxfp8' })),
    [
      'whole-graphs-give-experts-room',
      'layout.kernel.cudaGraphs',
      'Megatron-LM core_v0.17.1 cannot hold an exchange of experts in a graph of a whole step: its sizes change with each step',
      'set engine.release to core_v0.18.2 or core_v0.19.0, or use partial',
    ],
  ],
])('kernels that Megatron-LM lacks are refused: %s', (_sentence, change, want) => {
  expect(changesOf(change)).toEqual(want);
});
