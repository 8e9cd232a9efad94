/** The layouts of published systems that are trained on a few CPU ranks: each is that of its example, with smaller degrees and named changes. */
import { RenderingRequest } from '@coxswain/api-types';
import { ParallelLayout, readLayout, worldSize } from '@coxswain/layout';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { z } from 'zod';
import { optionOf, type TRAINED_AXES, type TrainedRow } from '../../tools/generate/trained-systems.ts';

const EXAMPLES = join(import.meta.dirname, '../../examples/layouts');
const PROGRAMS = 'engines/systems';
export const STEPS = 20;
const GLOBAL_BATCH = 8;

type Axis = (typeof TRAINED_AXES)[number];
type Change = TrainedRow['changes'][number];

/** A layout, and who trains it. */
export interface TrainedCase {
  /** Of examples/layouts. */
  readonly file: string;
  /** Of a file with several. */
  readonly role?: string;
  readonly engine: 'torchtitan' | 'deepspeed' | 'hugging-face' | 'reference' | 'custom';
  /** Degrees of the ranks that train it. Others are 1. */
  readonly degrees: Readonly<Partial<Record<Axis | 'dataParallelShardDegree', number>>>;
  /** Degrees of the ranks that train the first half, and save; those of `degrees` load the save. */
  readonly savedAt?: Readonly<Partial<Record<Axis, number>>>;
  /** Of `degrees`, what the system is about. */
  readonly axes: readonly Axis[];
  /** Other options that are not as in the example; without `to`, they are left out. */
  readonly changes?: readonly { readonly option: string; readonly to?: unknown; readonly why: string }[];
  readonly model: z.input<typeof RenderingRequest>['model'];
  readonly program?: readonly string[];
  readonly args?: readonly string[];
  /** Of a program of the user. */
  readonly version?: string;
  /** Largest difference of the loss of a step to that of one rank. */
  readonly tolerance: number;
  /** What the engine prints of how it divides; it has to be in its output. */
  readonly evidence: RegExp;
}

const SIZES = { layers: 4, hiddenSize: 64, attentionHeads: 4, keyValueHeads: 4, vocabularySize: 256 } as const;
/** TorchTitan's Llama. Its context ranks need whole blocks of 128 tokens. */
const LLAMA = { ...SIZES, ffnHiddenSize: 128, gatedMlp: true, sequenceLength: 256 } as const;
const BYTES = { layers: 4, hiddenSize: 64, attentionHeads: 4, sequenceLength: 64 } as const;
const PLAIN = { ...SIZES, layers: 2, hiddenSize: 32, vocabularySize: 64, sequenceLength: 64 } as const;

const TITAN = ['python3', `${PROGRAMS}/torchtitan_same_samples.py`] as const;
const CUSTOM = ['python3', `${PROGRAMS}/custom_gpt.py`, '$(COXSWAIN_ENGINE_FILES)/job.json'] as const;
/** Its step lines have five digits. */
const TITAN_TOLERANCE = 1e-3;
const CUSTOM_TOLERANCE = 1e-5;

/** It trains in 32 bits, so that losses can be compared, and saves nothing by itself. */
const STAGES = [{ layers: 1, embedding: true }, { layers: 1 }, { layers: 1 }, { layers: 1, loss: true }];

const titan = { engine: 'torchtitan', model: LLAMA, program: TITAN, tolerance: TITAN_TOLERANCE } as const;
const custom = {
  engine: 'custom',
  version: 'custom_gpt.py, PyTorch 2.15.0',
  model: PLAIN,
  program: CUSTOM,
  tolerance: CUSTOM_TOLERANCE,
} as const;
const reference = { engine: 'reference', version: 'of this repository', model: BYTES, tolerance: 1e-3 } as const;

const deepspeed = {
  engine: 'deepspeed',
  model: { ...PLAIN, ffnHiddenSize: 64, gatedMlp: true },
  program: ['python3', `${PROGRAMS}/deepspeed_gpt.py`],
  args: ['$(COXSWAIN_ENGINE_FILES)/job.json'],
  tolerance: 1e-4,
} as const;

const ASYNC_TP = {
  option: 'communication.overlapTensorParallel',
  why: 'asynchronous tensor parallelism compiles kernels for CUDA',
} as const;

/** Every layout that is trained. */
export const CASES: readonly TrainedCase[] = [
  {
    ...titan,
    file: '01-megatron-lm-tensor-parallel.yaml',
    degrees: { tensorParallelDegree: 2 },
    axes: ['tensorParallelDegree'],
    changes: [ASYNC_TP],
    evidence: /cp=1, tp=2, ep=1/,
  },
  {
    ...titan,
    file: '02-ptd-p.yaml',
    degrees: { tensorParallelDegree: 2, pipelineParallelDegree: 2 },
    axes: ['tensorParallelDegree', 'pipelineParallelDegree'],
    changes: [
      { option: 'memory.recompute.method', why: 'TorchTitan recomputes every layer by itself' },
      { option: 'memory.recompute.layers', why: 'TorchTitan recomputes every layer by itself' },
    ],
    evidence: /schedule Interleaved1F1B with 4 microbatches and 4 stages/,
  },
  {
    ...titan,
    file: '03-gpipe.yaml',
    degrees: { pipelineParallelDegree: 4 },
    axes: ['pipelineParallelDegree'],
    changes: [{ option: 'pipeline.stages', to: STAGES, why: 'the model has 4 layers' }],
    evidence: /schedule GPipe with 4 microbatches and 4 stages/,
  },
  {
    ...custom,
    file: '13-ring-self-attention.yaml',
    degrees: { contextParallelDegree: 4 },
    axes: ['contextParallelDegree'],
    evidence: /ranks 4: context 4, data 1/,
  },
  {
    ...custom,
    file: '14-lightseq.yaml',
    degrees: { contextParallelDegree: 4 },
    axes: ['contextParallelDegree'],
    changes: [{ option: 'kernel.attention', why: 'the flash kernel runs on GPUs' }],
    evidence: /ranks 4: context 4, data 1/,
  },
  {
    ...custom,
    file: '18-token-ring.yaml',
    degrees: { contextParallelDegree: 4 },
    axes: ['contextParallelDegree'],
    evidence: /ranks 4: context 4, data 1/,
  },
  {
    ...custom,
    file: '21-longca-bench.yaml',
    degrees: { contextParallelDegree: 4 },
    axes: ['contextParallelDegree'],
    changes: [
      { option: 'sequence.ulyssesDegree', to: 2, why: 'there are 4 context ranks' },
      { option: 'kernel.attention', why: 'the flash kernel runs on GPUs' },
    ],
    evidence: /ranks 4: context 4, data 1/,
  },
  {
    ...custom,
    version: 'placements_mlp.py, PyTorch 2.15.0',
    program: ['python3', `${PROGRAMS}/placements_mlp.py`, '$(COXSWAIN_ENGINE_FILES)/job.json'],
    model: { ...PLAIN, ffnHiddenSize: 128, gatedMlp: false },
    file: '29-oneflow.yaml',
    degrees: { tensorParallelDegree: 2, dataParallelDegree: 2 },
    axes: ['tensorParallelDegree', 'dataParallelDegree'],
    changes: [{ option: 'states', why: 'the program keeps whole gradients and states' }],
    evidence: /3 rules; a rank has \(32, 64\) of \(32, 128\)/,
  },
  {
    ...reference,
    file: '31-redco.yaml',
    degrees: { tensorParallelDegree: 2, dataParallelDegree: 2 },
    axes: ['tensorParallelDegree'],
    changes: [{ option: 'tensorPlacements', why: 'the rules are for JAX; the engine divides its layers itself' }],
    evidence: /--tensor-parallel 2 .*--data-parallel 2/,
  },
  {
    ...reference,
    file: '30-pangu-alpha.yaml',
    degrees: { tensorParallelDegree: 2, pipelineParallelDegree: 2, dataParallelDegree: 2 },
    axes: ['tensorParallelDegree', 'pipelineParallelDegree', 'dataParallelDegree'],
    changes: [
      { option: 'states', why: 'the engine always shards optimizer states over data-parallel ranks (ZeRO-1)' },
      { option: 'memory', why: 'the engine recomputes nothing' },
      { option: 'checkpointPolicy', why: 'the format is that of MindSpore' },
    ],
    evidence: /--tensor-parallel 2 --pipeline-parallel 2 --data-parallel 2/,
  },
  {
    ...reference,
    file: '08-bytecheckpoint.yaml',
    savedAt: { tensorParallelDegree: 2 },
    degrees: { pipelineParallelDegree: 2 },
    axes: ['pipelineParallelDegree'],
    changes: [
      { option: 'states', why: 'the engine always shards optimizer states over data-parallel ranks (ZeRO-1)' },
      { option: 'checkpointPolicy', why: 'the engine always saves beside training, for every layout' },
    ],
    evidence: /resumed after step 10 /,
  },
  {
    ...titan,
    file: '06-holmes.yaml',
    degrees: { pipelineParallelDegree: 2, dataParallelDegree: 2 },
    axes: ['pipelineParallelDegree', 'dataParallelDegree'],
    changes: [
      {
        option: 'pipeline.stages',
        to: [
          { layers: 3, embedding: true },
          { layers: 1, loss: true },
        ],
        why: 'the model has 4 layers',
      },
      { option: 'states', why: 'TorchTitan shards all states or none' },
      { option: 'rankOrder', why: 'TorchTitan has one order' },
      { option: 'communication', why: 'all ranks are on one machine' },
    ],
    evidence: /schedule 1F1B with 2 microbatches and 2 stages/,
  },
  {
    ...titan,
    file: '10-torchtitan.yaml',
    degrees: { tensorParallelDegree: 2, pipelineParallelDegree: 2, dataParallelDegree: 2, dataParallelShardDegree: 2 },
    axes: ['tensorParallelDegree', 'pipelineParallelDegree', 'dataParallelDegree'],
    changes: [ASYNC_TP, { option: 'pipeline.stages', to: STAGES, why: 'the model has 4 layers' }],
    evidence: /dp_shard=2, cp=1, tp=2, ep=1/,
  },
  {
    ...titan,
    file: '24-moe-parallel-folding.yaml',
    model: { ...LLAMA, layers: 2, experts: { count: 4, topK: 2, ffnHiddenSize: 64 } },
    degrees: {
      tensorParallelDegree: 2,
      contextParallelDegree: 2,
      'expert.expertParallelDegree': 4,
    },
    axes: ['tensorParallelDegree', 'contextParallelDegree', 'expert.expertParallelDegree'],
    changes: [
      { option: 'sequence.contextAlgorithm', to: 'allgather', why: "TorchTitan's attention gathers keys and values" },
      { option: 'expert.balance', to: 'none', why: 'a loss for balance is a mean of ranks, not of tokens' },
      { option: 'states', to: { zeroStage: 3 }, why: 'TorchTitan shards states over context ranks' },
      { option: 'communication', why: 'FSDP2 always overlaps' },
      { option: 'checkpointPolicy', why: 'TorchTitan saves in its own format' },
    ],
    evidence: /cp=2, tp=2, ep=4/,
  },
  {
    ...titan,
    file: '39-long-vita.yaml',
    degrees: { tensorParallelDegree: 2, contextParallelDegree: 2 },
    axes: ['tensorParallelDegree', 'contextParallelDegree'],
    changes: [
      { option: 'sequence.contextAlgorithm', to: 'allgather', why: "TorchTitan's attention gathers keys and values" },
      { option: 'states', to: { zeroStage: 3 }, why: 'TorchTitan shards states over context ranks' },
      { option: 'memory.recompute.method', why: 'TorchTitan recomputes every layer by itself' },
      { option: 'memory.recompute.layers', why: 'TorchTitan recomputes every layer by itself' },
    ],
    evidence: /cp=2, tp=2, ep=1/,
  },
  {
    ...deepspeed,
    file: '11-zero.yaml',
    degrees: { dataParallelDegree: 4 },
    axes: ['dataParallelDegree'],
    changes: [
      { option: 'states.secondaryShardDegree', to: 2, why: 'there are 4 ranks' },
      { option: 'checkpointPolicy', why: 'nothing is saved' },
    ],
    evidence: /ranks 4: ZeRO 3/,
  },
  {
    ...deepspeed,
    file: '15-deepspeed-ulysses.yaml',
    degrees: { contextParallelDegree: 2, dataParallelDegree: 2 },
    axes: ['contextParallelDegree'],
    changes: [{ option: 'kernel.attention', why: 'the flash kernel runs on GPUs' }],
    evidence: /ranks 4: ZeRO 3, sequence 2/,
  },
  {
    ...deepspeed,
    file: '27-deepspeed-moe.yaml',
    model: { ...PLAIN, gatedMlp: false, ffnHiddenSize: 64, experts: { count: 4, topK: 1, ffnHiddenSize: 64 } },
    degrees: { dataParallelDegree: 4, 'expert.expertParallelDegree': 4 },
    axes: ['dataParallelDegree', 'expert.expertParallelDegree'],
    changes: [
      { option: 'expert.expertTensorParallelDegree', why: 'one rank has each expert' },
      { option: 'expert.capacityFactor', to: 4, why: 'which tokens an expert drops depends on the ranks' },
      { option: 'expert.tokenDropOrder', why: 'no token is dropped' },
      { option: 'expert.balance', to: 'none', why: 'a loss for balance is a mean of ranks, not of tokens' },
      { option: 'memory', why: 'there is no GPU to move states from' },
    ],
    evidence: /ranks 4: ZeRO 2, sequence 1, experts over 4/,
  },
  {
    ...custom,
    file: '41-rcm.yaml',
    role: 'student',
    degrees: { contextParallelDegree: 2, dataParallelDegree: 2, dataParallelShardDegree: 2 },
    axes: ['contextParallelDegree'],
    changes: [{ option: 'checkpointPolicy', why: 'nothing is saved' }],
    evidence: /ranks 4: context 2, data 2, states DTensor/,
  },
  {
    engine: 'hugging-face',
    model: { ...SIZES, layers: 2, ffnHiddenSize: 128, gatedMlp: false, sequenceLength: 64 },
    program: ['python3', `${PROGRAMS}/trainer_bert.py`, '$(COXSWAIN_ENGINE_FILES)/job.json'],
    args: ['--use_cpu', '--ddp_backend', 'gloo', '--report_to', 'none'],
    // Its losses have four digits.
    tolerance: 1e-3,
    file: '42-sobert.yaml',
    degrees: { dataParallelDegree: 2 },
    axes: ['dataParallelDegree'],
    changes: [
      { option: 'states', why: 'Trainer shards by FSDP2 or DeepSpeed alone' },
      { option: 'kernel.attentionMask', why: 'the model of the program has it: BERT attends in both directions' },
      { option: 'checkpointPolicy', why: 'nothing is saved' },
    ],
    evidence: /ranks 2: DistributedDataParallel/,
  },
];

/** The layout in the file. */
export function exampleLayout(file: string, role?: string): ParallelLayout {
  const read = readLayout(parse(readFileSync(join(EXAMPLES, file), 'utf8')));
  const layout =
    read.kind === 'layout'
      ? read.document.layout
      : read.kind === 'job'
        ? read.document.roles[role ?? '']?.layout
        : undefined;
  if (layout === undefined) throw new Error(`${file} has no layout of ${role ?? 'one role'}`);
  return layout;
}

/** The layout that is trained: that of the example with the changes of the case. Throws if a change changes nothing. */
export function trainedLayout({ file, role, degrees, changes = [] }: TrainedCase): ParallelLayout {
  const whole = structuredClone(exampleLayout(file, role)) as Record<string, unknown>;
  for (const name of ['tensor', 'pipeline', 'data', 'context'] as const) delete whole[`${name}ParallelDegree`];
  delete whole['dataParallelShardDegree'];
  for (const { option, to } of [...Object.entries(degrees).map(([option, to]) => ({ option, to })), ...changes]) {
    if (!(option in degrees) && optionOf(whole, option) === undefined && to === undefined)
      throw new Error(`${file} has no ${option} to leave out`);
    replace(whole, option, to);
  }
  return ParallelLayout.parse(whole);
}

/** Changes of an entry of the record. */
export function changesOf({ changes = [] }: TrainedCase): readonly Change[] {
  return changes.map(({ option, to, why }) => ({ option, to: to ?? null, why }));
}

function replace(whole: Record<string, unknown>, option: string, to: unknown): void {
  const names = option.split('.');
  const last = names.pop() ?? '';
  let place = whole;
  for (const name of names) place = (place[name] ??= {}) as Record<string, unknown>;
  if (to === undefined) {
    delete place[last];
    if (names.length > 0 && Object.keys(place).length === 0) replace(whole, names.join('.'), undefined);
    return;
  }
  place[last] = to;
}

/** The layout of one rank, with what else changes what is computed: masks, and which tokens experts take. */
export function oneRank({ kernel, expert }: ParallelLayout): ParallelLayout {
  const { capacityFactor, tokenDropOrder, balance } = expert ?? {};
  const kept = Object.entries({ capacityFactor, tokenDropOrder, balance }).filter(([, value]) => value !== undefined);
  return ParallelLayout.parse({
    ...(kernel === undefined ? {} : { kernel }),
    ...(kept.length === 0 ? {} : { expert: { expertParallelDegree: 1, ...Object.fromEntries(kept) } }),
  });
}

/** The layout that trains the first half; undefined if one layout trains all steps. */
export function firstLayout({ savedAt, ...one }: TrainedCase): ParallelLayout | undefined {
  return savedAt === undefined ? undefined : trainedLayout({ ...one, degrees: savedAt });
}

/** The question to Coxswain, as `coxswain render` asks it. */
export function renderingOf(one: TrainedCase, layout: ParallelLayout, steps = STEPS): RenderingRequest {
  const { engine, model, program, args } = one;
  return RenderingRequest.parse({
    engine: {
      name: engine,
      ...(program === undefined ? {} : { command: [...program] }),
      ...(args === undefined ? {} : { args: [...args] }),
    },
    layout,
    model,
    training: {
      steps,
      globalBatchSize: GLOBAL_BATCH,
      microBatchSize: 2,
      learningRate: 0.003,
      schedule: { name: 'constant' },
      precision: 'fp32',
    },
    ...(engine === 'reference' ? { data: { claimName: 'data', path: 'logbook.txt' } } : {}),
    gpusPerPod: worldSize(layout),
  });
}
