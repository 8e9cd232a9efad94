/** Passes options that set no fact to the engine, in the form that it reads; what contradicts the rendered form is refused. */
import type { EffectiveSpec, EngineName } from '@coxswain/api-types';
import { nearestWord } from '@coxswain/layout';
import { bridgeRelease } from '../adapters/megatron-bridge/fields.ts';
import { ownerOfSetting } from '../adapters/megatron-bridge/overrides.ts';
import type { Json } from '../adapters/check.ts';
import { ownerOf as ownerInTrainer } from '../adapters/hugging-face/owners.ts';
import trainer from '../adapters/hugging-face/options-v5.23.0.json' with { type: 'json' };
import { ownerOfLora } from '../adapters/hugging-face/lora-arguments.ts';
import { ownerOfPacking } from '../adapters/hugging-face/packing-arguments.ts';
import { ownerOf as ownerInTitan, titanOptions } from '../adapters/torchtitan/arguments.ts';
import { ownerOf as ownerInMegatron } from '../megatron/owned-options.ts';
import { megatronRelease } from '../megatron/releases.ts';
import { readArguments } from '../megatron/read-arguments.ts';
import { literally, type RenderedEngine } from '../rendering.ts';
import { isSameValue, valueOfText } from './option-values.ts';
import type { Contradiction } from './read-options.ts';

type Option = NonNullable<EffectiveSpec['engine']['options']>[number];

/** How an engine reads options. */
interface Carrier {
  /** The names that the release lists; empty if they are not known. */
  readonly known: (run: RenderedEngine, spec: EffectiveSpec) => readonly string[];
  /** What was rendered for the option; undefined if nothing was. */
  readonly rendered: (run: RenderedEngine, name: string) => Json | undefined;
  /** The field of the job that decides the option; undefined if the user does. */
  readonly ownerOf: (name: string, spec: EffectiveSpec) => string | undefined;
  readonly pass: (run: RenderedEngine, options: readonly Option[]) => RenderedEngine;
}

const DEEPSPEED_FILE = 'deepspeed.json';

const MEGATRON: Carrier = {
  known: ({ release }) => [...(megatronRelease(release)?.options.keys() ?? [])].map((flag) => flag.replace(/^-+/, '')),
  rendered: ({ release, command }, name) => {
    const options = megatronRelease(release)?.options ?? new Map();
    const dest = options.get(flagOf(name))?.dest;
    const found = readArguments(command.slice(2), options).read.findLast((one) => one.dest === dest);
    if (found === undefined || dest === undefined) return undefined;
    return options.get(found.flag)?.arity === 0 ? found.flag === flagOf(name) : valueOfText(found.values.join(' '));
  },
  ownerOf: (name, spec) => {
    const options = megatronRelease(spec.engine.release)?.options ?? new Map();
    return ownerInMegatron(options.get(flagOf(name))?.dest ?? plain(name), spec);
  },
  pass: (run, options) => withWords(run, options.flatMap(megatronWords)),
};

const CARRIERS: Readonly<Partial<Record<EngineName, Carrier>>> = {
  'megatron-lm': MEGATRON,
  'megatron-bridge': {
    known: (_run, { engine }) => [...bridgeRelease(engine.release).fields.keys()],
    rendered: (run, name) => settingIn(jsonFile(run, 'megatron-bridge.json'), name),
    ownerOf: ownerOfSetting,
    pass: (run, options) =>
      withWords(
        run,
        options.map(({ name, value }) => `${name}=${value}`),
      ),
  },
  torchtitan: {
    known: (_run, { engine }) => titanOptions(engine.release?.startsWith('v0.2') === true),
    rendered: (run, name) => (jsonFile(run, 'torchtitan.json')['settings'] as JsonObject | undefined)?.[name],
    ownerOf: (name) => ownerInTitan(name),
    pass: (run, options) => withWords(run, options.flatMap(titanWords)),
  },
  deepspeed: {
    known: () => [],
    rendered: (run, name) => at(jsonFile(run, DEEPSPEED_FILE), name),
    ownerOf: ownerInDeepSpeed,
    pass: withDeepSpeed,
  },
  'hugging-face': {
    known: () => Object.keys(trainer.options),
    rendered: (run, name) =>
      isInDeepSpeedFile(name) ? at(jsonFile(run, DEEPSPEED_FILE), name) : trainerArgument(run.command, name),
    ownerOf: (name, spec) =>
      isInDeepSpeedFile(name)
        ? ownerInDeepSpeed(name)
        : (ownerOfLora(name, spec) ?? ownerOfPacking(name, spec) ?? ownerInTrainer(name)),
    pass: (run, options) => {
      const inFile = options.filter(({ name }) => isInDeepSpeedFile(name));
      const rest = options.filter(({ name }) => !isInDeepSpeedFile(name));
      return withWords(
        inFile.length === 0 ? run : withDeepSpeed(run, inFile),
        rest.map(({ name, value }) => `--${name}=${value}`),
      );
    },
  },
};

/** The rendering with its options, or the contradictions of all of them. */
export function passOptions(
  run: RenderedEngine,
  options: readonly Option[],
  spec: EffectiveSpec,
): { readonly run: RenderedEngine; readonly contradictions: readonly Contradiction[] } {
  const carrier = CARRIERS[spec.engine.name];
  if (carrier === undefined || options.length === 0) return { run, contradictions: [] };
  const contradictions: Contradiction[] = [];
  const passed: Option[] = [];
  for (const option of options) {
    const owner = carrier.ownerOf(option.name, spec);
    const rendered = carrier.rendered(run, option.name);
    const value = valueOfText(option.value);
    if (rendered !== undefined && isSameValue(rendered, value)) continue;
    if (owner === undefined) passed.push(option);
    // A switch that is off asks for what the engine does anyhow.
    else if (rendered !== undefined || value !== false) contradictions.push(decided(option, owner, rendered));
  }
  const known = carrier.known(run, spec);
  const notes = passed.map((option) => noteOf(option, known, run.release));
  return { run: { ...carrier.pass(run, passed), notes: [...run.notes, ...notes] }, contradictions };
}

function decided({ name, value }: Option, field: string, rendered: Json | undefined): Contradiction {
  const instead = rendered === undefined ? 'decides it by leaving it out' : `renders ${JSON.stringify(rendered)}`;
  return { field, why: `engine.options sets ${name} to ${value}, and ${field} ${instead}` };
}

/** Whether a note of a rendering names an option that is passed through and not priced. */
export function isNotPriced(note: string): boolean {
  return note.includes(NOT_PRICED);
}

const NOT_PRICED = 'is passed through and not priced';

function noteOf({ name, value }: Option, known: readonly string[], release: string | undefined): string {
  const sentence = `engine.options: ${name} ${value} ${NOT_PRICED}`;
  if (known.length === 0 || known.some((one) => plain(one) === plain(name))) return sentence;
  const near = nearestWord(known.map(plain), plain(name));
  return `${sentence}; ${release ?? 'the release'} does not list it${near === undefined ? '' : ` (did you mean ${near}?)`}`;
}

function plain(name: string): string {
  return name.replace(/^-+/, '').replaceAll('-', '_');
}

function flagOf(name: string): string {
  return `--${name.replace(/^-+/, '').replaceAll('_', '-')}`;
}

function megatronWords({ name, value }: Option): readonly string[] {
  const read = valueOfText(value);
  if (read === false) return [];
  if (read === true || value === '') return [flagOf(name)];
  return [flagOf(name), ...(Array.isArray(read) ? read.map(String) : value.split(/\s+/))];
}

function titanWords({ name, value }: Option): readonly string[] {
  const read = valueOfText(value);
  if (read === true) return [`--${name}`];
  const parts = name.split('.');
  const last = parts.at(-1) ?? '';
  return read === false ? [`--${[...parts.slice(0, -1), `no-${last}`].join('.')}`] : [`--${name}=${value}`];
}

function withWords(run: RenderedEngine, words: readonly string[]): RenderedEngine {
  return { ...run, command: [...run.command, ...words.map(literally)] };
}

type JsonObject = Readonly<Record<string, Json>>;

function jsonFile({ files }: RenderedEngine, path: string): JsonObject {
  const file = files.find((one) => one.path === path);
  return file === undefined ? {} : (JSON.parse(file.text.replaceAll('$$', '$')) as JsonObject);
}

function at(whole: Json, name: string): Json | undefined {
  return name
    .split('.')
    .reduce<Json | undefined>(
      (inner, part) =>
        typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? (inner as JsonObject)[part] : undefined,
      whole,
    );
}

function settingIn(json: JsonObject, name: string): Json | undefined {
  const [section, ...rest] = name.split('.');
  if (section === 'mixed_precision') return at(json['mixed_precision'] ?? {}, rest.join('.'));
  return (json['settings'] as JsonObject | undefined)?.[name];
}

function trainerArgument(command: readonly string[], name: string): Json | undefined {
  const word = command.find((one) => one.startsWith(`--${name}=`));
  return word === undefined ? undefined : valueOfText(word.slice(name.length + 3));
}

/** Parts of DeepSpeed's file that fields of a job decide, also by leaving them out. */
const IN_DEEPSPEED: readonly (readonly [begin: string, field: string])[] = [
  ['train_batch_size', 'training.globalBatchSize'],
  ['train_micro_batch_size_per_gpu', 'training.microBatchSize'],
  ['gradient_accumulation_steps', 'training.globalBatchSize'],
  ['gradient_clipping', 'training.optimizer.clipNorm'],
  ['optimizer.type', 'training.optimizer.name'],
  ['optimizer.params.lr', 'training.learningRate'],
  ['optimizer.params.weight_decay', 'training.weightDecay'],
  ['optimizer.params.betas', 'training.optimizer.beta1'],
  ['optimizer.params.eps', 'training.optimizer.epsilon'],
  ['scheduler', 'training.schedule'],
  ['bf16.enabled', 'layout.kernel.precision'],
  ['fp16.enabled', 'layout.kernel.precision'],
  ['zero_optimization.stage', 'layout.states.zeroStage'],
  ['zero_optimization.overlap_comm', 'layout.communication.overlapGradReduce'],
  ['zero_optimization.zero_hpz_partition_size', 'layout.states.secondaryShardDegree'],
  ['zero_optimization.offload_optimizer.device', 'layout.memory.offload'],
  ['zero_optimization.offload_optimizer.ratio', 'layout.memory.offload'],
  ['zero_optimization.offload_param.device', 'layout.memory.offload'],
  ['tensor_parallel', 'layout.tensorParallelDegree'],
  ['sequence_parallel_size', 'layout.contextParallelDegree'],
  ['pipeline.stages', 'layout.pipelineParallelDegree'],
  ['expert_parallel', 'layout.expert'],
  ['activation_checkpointing.cpu_checkpointing', 'layout.memory.offload'],
  ['checkpoint.load_universal', 'layout.checkpointPolicy.format'],
];

/** Keys of DeepSpeed's file that are in no section and are no arguments of Trainer. */
const TOP_OF_DEEPSPEED = new Set([
  ...['train_batch_size', 'train_micro_batch_size_per_gpu', 'gradient_clipping', 'steps_per_print'],
  ...['wall_clock_breakdown', 'prescale_gradients', 'gradient_predivide_factor', 'communication_data_type'],
  ...['zero_allow_untested_optimizer', 'zero_force_ds_cpu_optimizer', 'sparse_gradients', 'dump_state'],
  ...['memory_breakdown', 'sequence_parallel_size'],
]);

/** Whether Trainer has the option in DeepSpeed's file, and not among its own arguments. */
function isInDeepSpeedFile(name: string): boolean {
  return name.includes('.') || TOP_OF_DEEPSPEED.has(name);
}

function ownerInDeepSpeed(name: string): string | undefined {
  return IN_DEEPSPEED.find(([begin]) => name === begin || name.startsWith(`${begin}.`))?.[1];
}

function withDeepSpeed(run: RenderedEngine, options: readonly Option[]): RenderedEngine {
  let json: JsonObject = jsonFile(run, DEEPSPEED_FILE);
  for (const { name, value } of options) json = set(json, name.split('.'), valueOfText(value));
  const text = literally(`${JSON.stringify(json, undefined, 2)}\n`);
  return { ...run, files: run.files.map((file) => (file.path === DEEPSPEED_FILE ? { ...file, text } : file)) };
}

function set(json: JsonObject, [name = '', ...rest]: readonly string[], value: Json): JsonObject {
  const inner = json[name];
  const below = typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? (inner as JsonObject) : {};
  return { ...json, [name]: rest.length === 0 ? value : set(below, rest, value) };
}
