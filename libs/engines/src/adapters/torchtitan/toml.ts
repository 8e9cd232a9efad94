/** TorchTitan up to 0.2.2: a TOML file, and models by the names of its own flavours. */
import { type EffectiveSpec, POD_PATHS, RANK_ENV } from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import type { EngineRefusal } from '../../engine-refusal.ts';
import { dataPathOf, inside } from '../../paths.ts';
import { literally } from '../../rendering.ts';
import { type Check, given, type Json, rejectUnsupported } from '../check.ts';
import { presetOf } from '../../published-model.ts';
import { settingsOf } from './settings.ts';
import type { RenderedFiles } from './rendered-files.ts';

const FILE = 'torchtitan.toml';
const ENGINE = 'torchtitan up to v0.2.2';

/** torchtitan/models: what the planner calls a model, and which flavour has its sizes. */
const FLAVOURS: Readonly<Record<string, readonly [string, string]>> = {
  'llama-3.1-8b': ['llama3', '8B'],
  'llama-3.1-70b': ['llama3', '70B'],
  'llama-3.1-405b': ['llama3', '405B'],
  'deepseek-v3': ['deepseek_v3', '671B'],
  'qwen3-8b': ['qwen3', '8B'],
  'qwen3-32b': ['qwen3', '32B'],
  'qwen3-30b-a3b': ['qwen3', '30B-A3B'],
  'qwen3-235b-a22b': ['qwen3', '235B-A22B'],
};

const FIELDS = rejectUnsupported(ENGINE, [
  {
    field: 'engine.recipe',
    valueOf: ({ engine }) => engine.recipe,
    fallback: 'leave it out, or take release v0.3.0, whose configurations are functions',
  },
  {
    field: 'data.format',
    valueOf: ({ data }) => data?.format,
    taken: ['jsonl'],
    fallback: 'give a directory of JSON lines, or take release v0.3.0',
  },
  { field: 'data.paths', valueOf: ({ data }) => data?.paths, fallback: 'give one directory in data.path' },
  {
    field: 'layout.sequence.contextAlgorithm',
    valueOf: ({ layout }) => layout.sequence?.contextAlgorithm,
    taken: ['ring', 'allgather'],
    fallback: 'use ring',
  },
  {
    field: 'layout.sequence.causalBalance',
    valueOf: ({ layout }) => layout.sequence?.causalBalance,
    taken: ['head-tail'],
    fallback: 'use head-tail',
  },
  {
    field: 'layout.kernel.attention',
    valueOf: ({ layout }) => layout.kernel?.attention,
    taken: ['auto'],
    fallback: 'leave it out, or take release v0.3.0, which has flex alone',
  },
  {
    field: 'layout.kernel.attentionMask',
    valueOf: ({ layout }) => layout.kernel?.attentionMask,
    taken: ['causal'],
    fallback: 'leave it out: its flavours mask causally',
  },
  {
    field: 'layout.kernel.cudaGraphs',
    valueOf: ({ layout }) => layout.kernel?.cudaGraphs,
    taken: ['none'],
    fallback: 'leave it out, or take release v0.3.0',
  },
  {
    field: 'layout.expert.dispatcher',
    valueOf: ({ layout }) => layout.expert?.dispatcher,
    taken: ['alltoall', 'deepep'],
    fallback: 'use alltoall',
  },
  {
    field: 'layout.expert.balance',
    valueOf: ({ layout }) => layout.expert?.balance,
    taken: ['bias'],
    fallback: 'use bias',
  },
  {
    field: 'layout.sequence.sequenceParallel',
    valueOf: ({ layout }) => (layout.tensorParallelDegree > 1 ? layout.sequence?.sequenceParallel : undefined),
    taken: [true],
    fallback: 'set it to true: it always goes with tensor parallelism there',
  },
]);

/** Checks for releases up to 0.2.2. */
export const TOML_REFUSALS: readonly Check[] = [FIELDS, wrongFlavour, wrongCopies, wrongPieces, wrongData];

function flavourOf({ model }: EffectiveSpec): readonly [string, string] | undefined {
  const name = model === undefined ? undefined : presetOf(model);
  return name === undefined ? undefined : FLAVOURS[name];
}

function wrongFlavour(spec: EffectiveSpec): EngineRefusal | undefined {
  if (flavourOf(spec) !== undefined) return undefined;
  return {
    rule: 'engine-lacks-model',
    field: 'model',
    why: `${ENGINE} has no flavour of these sizes`,
    fallback: `use one of the presets ${Object.keys(FLAVOURS).join(', ')}, or release v0.3.0`,
  };
}

/** torchtitan/models/llama3/infra/parallelize.py: copies that are added up go with nothing else. */
function wrongCopies({ layout }: EffectiveSpec): EngineRefusal | undefined {
  const { states, dataParallelDegree, tensorParallelDegree, pipelineParallelDegree } = layout;
  const isCopied = states?.zeroStage !== 3 && states?.implementation !== 'fsdp2' && dataParallelDegree > 1;
  if (!isCopied || tensorParallelDegree * pipelineParallelDegree === 1) return undefined;
  return {
    rule: 'torchtitan-copies-alone',
    field: 'layout.states.zeroStage',
    why: `${ENGINE} adds up copies of the whole model only where data parallelism is all there is`,
    fallback: 'set layout.states.zeroStage to 3',
  };
}

/** torchtitan/distributed/parallel_dims.py, seq_len_divisor. */
function wrongPieces({ model, layout }: EffectiveSpec): EngineRefusal | undefined {
  const divisor = layout.tensorParallelDegree * 2 * (layout.contextParallelDegree ?? 1);
  if (model === undefined || model.sequenceLength % divisor === 0) return undefined;
  return {
    rule: 'torchtitan-sequence-pieces',
    field: 'model.sequenceLength',
    why: `model.sequenceLength ${model.sequenceLength} is no multiple of ${divisor}, twice the tensor and context ranks`,
    fallback: `use ${Math.ceil(model.sequenceLength / divisor) * divisor}`,
  };
}

function wrongData({ data }: EffectiveSpec): EngineRefusal | undefined {
  const field = data === undefined ? 'data' : 'data.tokenizer';
  if (data?.tokenizer !== undefined) return undefined;
  return {
    rule: 'engine-needs-part',
    field,
    why: `${ENGINE} needs data and a tokenizer: its own default is fetched from the internet`,
    fallback: 'set data.path to a directory of JSON lines, and data.tokenizer.path',
  };
}

function own(spec: EffectiveSpec): Readonly<Record<string, Json>> {
  const { layout, training, data } = spec;
  const [name, flavor] = flavourOf(spec) ?? [];
  const { name: optimizer, beta1, beta2, epsilon } = training?.optimizer ?? {};
  return given<Json>({
    'model.name': name,
    'model.flavor': flavor,
    'model.hf_assets_path': data?.tokenizer && inside(POD_PATHS.data, data.tokenizer.path),
    'model.converters': converterOf(layout),
    'optimizer.name': optimizer === 'adam' ? 'Adam' : 'AdamW',
    'optimizer.lr': training?.learningRate,
    'optimizer.weight_decay': training?.weightDecay,
    'optimizer.beta1': beta1,
    'optimizer.beta2': beta2,
    'optimizer.eps': epsilon,
    // Its loader of a directory of JSON lines (torchtitan/hf_datasets/text_datasets.py).
    'training.dataset': 'c4_test',
    'training.dataset_path': dataPathOf(spec),
    ...parallelism(layout),
    ...recompute(layout),
  });
}

function converterOf({ kernel }: ParallelLayout): readonly string[] | undefined {
  if (kernel?.precision === 'fp8') return ['quantize.linear.float8'];
  return kernel?.precision === 'mxfp8' ? ['quantize.linear.mx'] : undefined;
}

const ROTATIONS = new Map([
  ['ring', 'alltoall'],
  ['allgather', 'allgather'],
]);

function parallelism({ sequence, expert, communication }: ParallelLayout): Readonly<Record<string, Json | undefined>> {
  const dispatcher = expert?.dispatcher;
  return {
    'parallelism.context_parallel_rotate_method': ROTATIONS.get(sequence?.contextAlgorithm ?? ''),
    'parallelism.expert_parallel_comm_backend': dispatcher === 'alltoall' ? 'standard' : dispatcher,
    'parallelism.enable_async_tensor_parallel': communication?.overlapTensorParallel,
  };
}

/** TorchTitan recomputes selectively if the file has no mode (torchtitan/config/job_config.py). */
function recompute({ memory }: ParallelLayout): Readonly<Record<string, Json | undefined>> {
  const { mode = 'none' } = memory?.recompute ?? {};
  return {
    'activation_checkpoint.mode': mode === 'budget' ? 'memory_budget' : mode,
    'activation_checkpoint.memory_budget': memory?.recompute?.budget,
  };
}

/** Settings by dotted name as tables of TOML, whose strings, numbers and arrays are those of JSON. */
function toml(settings: Readonly<Record<string, Json>>): string {
  const sections = new Map<string, string[]>();
  for (const [name, value] of Object.entries(settings)) {
    const [section = '', ...rest] = name.split('.');
    const lines = sections.get(section) ?? [];
    sections.set(section, [...lines, `${rest.join('.')} = ${JSON.stringify(value)}`]);
  }
  return [...sections].map(([section, lines]) => `[${section}]\n${lines.join('\n')}\n`).join('\n');
}

/** The command and the TOML file of a job. */
export function renderToml(spec: EffectiveSpec): RenderedFiles {
  const { engine, checkpoint } = spec;
  const text = toml({ ...settingsOf(spec, 'output'), ...own(spec) });
  const folder = checkpoint === undefined ? '/tmp/torchtitan' : `$(${RANK_ENV.saveDirectory})`;
  return {
    command: [
      ...(engine.command ?? ['python3', '-m', 'torchtitan.train']).map(literally),
      `--job.config-file=$(${RANK_ENV.engineFiles})/${FILE}`,
      `--job.dump-folder=${folder}`,
      ...(engine.args ?? []).map(literally),
    ],
    files: [{ path: FILE, text: literally(text) }],
  };
}
