/** TorchTitan from 0.3.0: a Python module of ours, and the job as JSON beside it. */
import { type EffectiveSpec, POD_PATHS, RANK_ENV } from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import type { EngineRefusal } from '../../engine-refusal.ts';
import { dataPathOf, inside } from '../../paths.ts';
import { literally } from '../../rendering.ts';
import { type Check, given, type Json, rejectUnsupported } from '../check.ts';
import { modelOf, modelRefusal } from './model.ts';
import program from './module.generated.json' with { type: 'json' };
import { settingsOf } from './settings.ts';
import type { RenderedFiles } from './rendered-files.ts';

/** Name of the Python module, and of its file. */
const MODULE = 'coxswain_torchtitan';
/** Where nothing is saved, TorchTitan still wants a folder for traces of hung collectives. */
const NO_SAVE_DIRECTORY = '/tmp/torchtitan';
/** Positions of a block of FlexAttention's mask. */
const MASK_BLOCK = 128;

const FIELDS = rejectUnsupported('torchtitan v0.3.0', [
  {
    field: 'layout.sequence.contextAlgorithm',
    valueOf: ({ layout }) => layout.sequence?.contextAlgorithm,
    taken: ['allgather'],
    fallback: 'use allgather: its FlexAttention gathers keys and values',
  },
  {
    field: 'layout.kernel.cudaGraphs',
    valueOf: ({ layout }) => layout.kernel?.cudaGraphs,
    taken: ['none', 'full'],
    fallback: 'use full or none',
  },
  {
    field: 'data.format',
    valueOf: ({ data }) => data?.format,
    taken: ['text', 'jsonl', 'hf', 'mock'],
    fallback: 'use jsonl',
  },
]);

/** Checks for releases from 0.3.0 on. */
export const MODULE_REFUSALS: readonly Check[] = [
  FIELDS,
  modelRefusal,
  wrongModel,
  wrongSequence,
  wrongGraphs,
  wrongData,
];

function wrongModel({ engine, model }: EffectiveSpec): EngineRefusal | undefined {
  if (engine.recipe !== undefined || model !== undefined) return undefined;
  return {
    rule: 'engine-needs-part',
    field: 'model',
    why: 'torchtitan needs model, or a recipe that has one',
    fallback: 'set model, or engine.recipe',
  };
}

/** torchtitan/trainer.py: each tensor and context rank has whole pieces; a mask has whole blocks on each context rank. */
function wrongSequence({ model, layout }: EffectiveSpec): EngineRefusal | undefined {
  const { contextParallelDegree: context = 1, tensorParallelDegree: tensor } = layout;
  const pieces = (layout.sequence?.sequenceParallel === true ? tensor : 1) * (context > 1 ? 2 * context : 1);
  const divisor = context > 1 ? leastCommonMultiple(pieces, MASK_BLOCK * context) : pieces;
  if (model === undefined || model.sequenceLength % divisor === 0) return undefined;
  return {
    rule: 'torchtitan-sequence-pieces',
    field: 'model.sequenceLength',
    why: `model.sequenceLength ${model.sequenceLength} is no multiple of ${divisor}, which tensor and context ranks need`,
    fallback: `use ${Math.ceil(model.sequenceLength / divisor) * divisor}`,
  };
}

function leastCommonMultiple(one: number, other: number): number {
  let [a, b] = [one, other];
  while (b > 0) [a, b] = [b, a % b];
  return (one / a) * other;
}

/** torchtitan/trainer.py, _validate_cuda_graphs. */
function wrongGraphs({ layout }: EffectiveSpec): EngineRefusal | undefined {
  if (layout.kernel?.cudaGraphs !== 'full') return undefined;
  const field = layout.pipelineParallelDegree > 1 ? 'pipelineParallelDegree' : 'expert.expertParallelDegree';
  if (layout.pipelineParallelDegree === 1 && (layout.expert?.expertParallelDegree ?? 1) === 1) return undefined;
  return {
    rule: 'torchtitan-graphs',
    field: 'layout.kernel.cudaGraphs',
    why: `torchtitan captures no CUDA graphs with layout.${field} above 1`,
    fallback: 'set layout.kernel.cudaGraphs to none',
  };
}

function wrongData({ engine, data }: EffectiveSpec): EngineRefusal | undefined {
  if (data === undefined) {
    if (engine.recipe !== undefined) return undefined;
    const why = 'torchtitan needs data: its own default is fetched from the internet';
    return { rule: 'engine-needs-part', field: 'data', why, fallback: 'set data, or data.format to mock' };
  }
  if (data.format === 'mock' || data.tokenizer !== undefined) return undefined;
  return {
    rule: 'engine-needs-part',
    field: 'data.tokenizer',
    why: 'torchtitan reads texts with a tokenizer',
    fallback: 'set data.tokenizer.path to the directory of tokenizer.json and tokenizer_config.json',
  };
}

/** The job as the module reads it (engines/torchtitan/coxswain_torchtitan.py). */
function moduleInput(spec: EffectiveSpec): Readonly<Record<string, Json>> {
  const { engine, layout, data } = spec;
  const settings = {
    ...settingsOf(spec, 'lm_head'),
    ...own(layout),
    ...given<Json>({ hf_assets_path: data?.tokenizer && inside(POD_PATHS.data, data.tokenizer.path) }),
  };
  return given<Json>({
    recipe: engine.recipe,
    model: modelOf(spec),
    settings,
    optimizer: optimizerOf(spec),
    activation_checkpoint: recomputeOf(spec),
    data: dataOf(spec),
  });
}

/**
 * Settings that 0.2 does not have. The hook and the log lines report steps; a file for each rank would grow on the checkpoint
 * claim.
 */
function own(layout: ParallelLayout): Readonly<Record<string, Json>> {
  return given<Json>({
    'parallelism.enable_sequence_parallel': layout.sequence?.sequenceParallel ?? false,
    'training.disable_cuda_graphs': layout.kernel?.cudaGraphs !== 'full',
    'compile.enable_async_tensor_parallel': layout.communication?.overlapTensorParallel,
    'debug.enable_structured_logging': false,
  });
}

const OPTIMIZER_NAMES = new Map([
  ['adamw', 'AdamW'],
  ['adam', 'Adam'],
]);

/** What the job leaves open is as TorchTitan's own default_adamw has it. */
function optimizerOf({ training }: EffectiveSpec): Readonly<Record<string, Json>> | undefined {
  if (training === undefined) return undefined;
  const { name = 'adamw', beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8 } = training.optimizer ?? {};
  const { learningRate: lr, weightDecay: weight_decay } = training;
  return { name: OPTIMIZER_NAMES.get(name) ?? name, lr, beta1, beta2, eps: epsilon, weight_decay };
}

/** TorchTitan recomputes selectively if nothing is stated. A recipe brings its own. */
function recomputeOf({ layout, engine }: EffectiveSpec): Readonly<Record<string, Json>> | undefined {
  const recompute = layout.memory?.recompute;
  if (recompute === undefined) return engine.recipe === undefined ? { mode: 'none' } : undefined;
  if (recompute.mode !== 'budget') return { mode: recompute.mode };
  return given<Json>({ mode: 'memory-budget', memory_budget: recompute.budget });
}

function dataOf(spec: EffectiveSpec): Readonly<Record<string, Json>> | undefined {
  const { data, training } = spec;
  if (data === undefined) return undefined;
  const seed = training?.seed ?? 0;
  const format = data.format ?? 'jsonl';
  if (format === 'mock') return { format, seed };
  const path = dataPathOf(spec);
  const one = path === undefined ? [] : [{ path, weight: 1 }];
  const several = data.paths?.map((each) => ({ path: inside(POD_PATHS.data, each.path), weight: each.weight }));
  return { format, seed, sources: several ?? one };
}

const RUNNER = ['python3', `$(${RANK_ENV.engineFiles})/${MODULE}.py`] as const;

/** The module is a program too: it runs TorchTitan with the directory of its files on Python's path. A program of the user's finds it there by itself. */
export function renderModule(spec: EffectiveSpec): RenderedFiles {
  const { engine, checkpoint } = spec;
  const folder = checkpoint === undefined ? NO_SAVE_DIRECTORY : `$(${RANK_ENV.saveDirectory})`;
  const text = `${JSON.stringify(moduleInput(spec), undefined, 2)}\n`;
  return {
    command: [
      ...(engine.command?.map(literally) ?? RUNNER),
      ...['--module', MODULE, '--config', 'job', `--dump-folder=${folder}`],
      ...(engine.args ?? []).map(literally),
    ],
    files: [
      { path: `${MODULE}.py`, text: literally(program.program) },
      { path: 'torchtitan.json', text: literally(text) },
    ],
  };
}
