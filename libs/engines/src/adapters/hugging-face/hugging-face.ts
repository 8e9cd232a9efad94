/**
 * `hugging-face`: a script of the user around Trainer, configured by the arguments that HfArgumentParser reads into
 * TrainingArguments.
 */
import { ENGINE_RELEASES, type EffectiveSpec, RANK_ENV } from '@coxswain/api-types';
import { type EngineFile, literally, refused, type Rendering } from '../../rendering.ts';
import { savedCheckpoints } from '../../saved-checkpoints.ts';
import { argumentRefusal, commandRefusal } from '../arguments.ts';
import { unsupportedOption } from '../unsupported-option.ts';
import { firstRefusal, type Json } from '../check.ts';
import { deepSpeedConfig } from '../deepspeed/config.ts';
import { ignoredFields } from '../ignored-fields.ts';
import { jobFile } from '../job-file.ts';
import { jobFileFields } from '../job-file-fields.ts';
import { scriptOf } from '../script.ts';
import { userEnvironment } from '../user-environment.ts';
import { ownerOf } from './owners.ts';
import options from './options-v5.23.0.json' with { type: 'json' };
import { loraArguments, statedTwice } from './lora-arguments.ts';
import { packingArguments, packingConflict } from './packing-arguments.ts';
import { variableRefusal } from './owned-variables.ts';
import { isDeepSpeed, isFsdp, REFUSALS } from './refusals.ts';
import { trainingArguments } from './training-arguments.ts';

const FSDP_FILE = 'fsdp.json';
const DEEPSPEED_FILE = 'deepspeed.json';
const FILES = `$(${RANK_ENV.engineFiles})`;

/** Renders a script of the user around Trainer. */
export function renderHuggingFace(spec: EffectiveSpec): Rendering {
  const { engine, layout, checkpoint } = spec;
  const script = scriptOf(spec);
  if ('refusal' in script) return refused(script.refusal);
  const refusal =
    unsupportedOption('hugging-face', layout) ??
    firstRefusal(REFUSALS, spec) ??
    statedTwice(spec) ??
    packingConflict(spec) ??
    variableRefusal(engine) ??
    commandRefusal(engine.command ?? [], ownerOf) ??
    argumentRefusal(engine.args ?? [], {
      engine: 'transformers',
      schema: options,
      ownerOf,
      // The script has arguments of its own, for its model and data.
      takesUnknown: true,
      takesBeginnings: true,
    });
  if (refusal !== undefined) return refused(refusal);
  const [release = ''] = ENGINE_RELEASES['hugging-face'];
  return {
    kind: 'rendered',
    release: engine.release ?? release,
    command: [
      ...script.program,
      ...loraArguments(spec),
      ...packingArguments(spec),
      ...flags(trainingArguments(spec)),
      ...shardingFlags(spec),
      ...script.args,
    ],
    startedBy: engine.startedBy ?? 'launcher',
    resumeArgs: checkpoint === undefined ? [] : [`--resume_from_checkpoint=$(${RANK_ENV.resumeFrom})`],
    files: [...shardingFiles(spec), jobFile(spec)],
    env: userEnvironment(spec),
    ports: [],
    ...(layout.memory?.hostMemoryGibPerGpu === undefined
      ? {}
      : { hostMemoryGibPerGpu: layout.memory.hostMemoryGibPerGpu }),
    stepLines: 'hugging-face',
    ...savedCheckpoints('hugging-face'),
    notes: notesOf(spec),
  };
}

function flags(settings: Readonly<Record<string, Json>>): readonly string[] {
  return Object.entries(settings).map(
    ([name, value]) => `--${name}=${typeof value === 'object' ? literally(JSON.stringify(value)) : String(value)}`,
  );
}

function shardingFlags(spec: EffectiveSpec): readonly string[] {
  if (isDeepSpeed(spec.layout)) return [`--deepspeed=${FILES}/${DEEPSPEED_FILE}`];
  return isFsdp(spec.layout) ? ['--fsdp', `--fsdp_config=${FILES}/${FSDP_FILE}`] : [];
}

/** transformers/training_args.py, _process_fsdp_args: version 2 is FSDP2, whose shards are saved as such and loaded by any number of ranks. */
function shardingFiles(spec: EffectiveSpec): readonly EngineFile[] {
  const { layout } = spec;
  if (isDeepSpeed(layout)) {
    // Trainer logs and schedules by itself, and refuses a file that contradicts its arguments.
    const { steps_per_print: _lines, scheduler: _schedule, ...config } = deepSpeedConfig(spec);
    return [{ path: DEEPSPEED_FILE, text: literally(`${JSON.stringify(config, undefined, 2)}\n`) }];
  }
  if (!isFsdp(layout)) return [];
  const isRecomputed = layout.memory?.recompute?.mode === 'full';
  const config = {
    version: 2,
    reshard_after_forward: layout.states?.reshardAfterForward ?? true,
    state_dict_type: 'SHARDED_STATE_DICT',
    ...(isRecomputed ? { activation_checkpointing: true } : {}),
  };
  return [{ path: FSDP_FILE, text: `${JSON.stringify(config, undefined, 2)}\n` }];
}

const RENDERED_FIELDS = [
  'layout.dataParallelDegree',
  'layout.states',
  'layout.memory.recompute',
  'layout.memory.hostMemoryGibPerGpu',
  'layout.kernel.precision',
  'layout.kernel.deterministic',
  'layout.kernel.compile',
];

function notesOf(spec: EffectiveSpec): readonly string[] {
  const { layout } = spec;
  return [
    ...(isFsdp(layout)
      ? ['On ranks without GPUs Accelerate switches FSDP off without a message; the hook reports what the ranks train.']
      : []),
    ...(spec.model === undefined && spec.data === undefined
      ? []
      : ['The script takes model and data from its own arguments, which can hold placeholders, or from job.json.']),
    ...(spec.training?.lora === undefined
      ? []
      : ['The script reads training.lora from the arguments of TRL’s ModelConfig, or from job.json.']),
    ...(spec.training?.packing === undefined
      ? []
      : ['The script reads training.packing from the arguments of TRL’s SFTConfig and ModelConfig, or from job.json.']),
    ...jobFileFields(spec, [...RENDERED_FIELDS, 'training.lora', 'training.packing']),
    ...ignoredFields(layout),
  ];
}
