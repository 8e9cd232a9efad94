/** `deepspeed`: a script of the user's that calls deepspeed.initialize, and the file that configures it. */
import { ENGINE_RELEASES, type EffectiveSpec, RANK_ENV } from '@coxswain/api-types';
import { isUniversal } from '@coxswain/checkpoint';
import { literally, refused, type Rendering } from '../../rendering.ts';
import { savedCheckpoints } from '../../saved-checkpoints.ts';
import { commandRefusal } from '../arguments.ts';
import { unsupportedOption } from '../unsupported-option.ts';
import { firstRefusal } from '../check.ts';
import { ignoredFields } from '../ignored-fields.ts';
import { jobFile } from '../job-file.ts';
import { jobFileFields } from '../job-file-fields.ts';
import { ownArgument, scriptOf } from '../script.ts';
import { userEnvironment } from '../user-environment.ts';
import { deepSpeedConfig, isAutomatic } from './config.ts';
import { REFUSALS } from './refusals.ts';

const FILE = 'deepspeed.json';
/** Minutes of a collective (deepspeed/constants.py). */
const TIMEOUT = 'DEEPSPEED_TIMEOUT';
const CONFIGURATION = 'the rendered configuration';
const OWN = new Map(
  ['deepspeed', 'deepspeed_config', 'deepscale', 'deepscale_config'].map((name) => [name, CONFIGURATION]),
);

/** Renders a script of the user around DeepSpeed. */
export function renderDeepSpeed(spec: EffectiveSpec): Rendering {
  const { engine, layout } = spec;
  const script = scriptOf(spec);
  if ('refusal' in script) return refused(script.refusal);
  const refusal =
    unsupportedOption('deepspeed', layout) ??
    firstRefusal([...REFUSALS, twoTimeouts], spec) ??
    commandRefusal(engine.command ?? [], (option) => OWN.get(option)) ??
    ownArgument(engine.args ?? [], OWN);
  if (refusal !== undefined) return refused(refusal);
  const [release = ''] = ENGINE_RELEASES.deepspeed;
  const minutes = layout.communication?.timeoutMinutes;
  const hostMemory = layout.memory?.hostMemoryGibPerGpu;
  const text = `${JSON.stringify(deepSpeedConfig(spec), undefined, 2)}\n`;
  return {
    kind: 'rendered',
    release: engine.release ?? release,
    command: [
      ...script.program,
      ...['--deepspeed', '--deepspeed_config', `$(${RANK_ENV.engineFiles})/${FILE}`],
      ...script.args,
    ],
    startedBy: engine.startedBy ?? 'launcher',
    resumeArgs: [],
    files: [{ path: FILE, text: literally(text) }, jobFile(spec)],
    env: { ...userEnvironment(spec), ...(minutes === undefined ? {} : { [TIMEOUT]: String(minutes) }) },
    ports: [],
    ...(hostMemory === undefined ? {} : { hostMemoryGibPerGpu: hostMemory }),
    stepLines: 'deepspeed',
    ...savedCheckpoints('deepspeed'),
    notes: notesOf(spec),
  };
}

function twoTimeouts({ engine, layout }: EffectiveSpec): ReturnType<typeof unsupportedOption> {
  const isSet = engine.env?.some(({ name }) => name === TIMEOUT) === true;
  if (!isSet || layout.communication?.timeoutMinutes === undefined) return undefined;
  return {
    rule: 'variable-is-said-by-the-job',
    field: 'engine.env',
    why: `engine.env holds ${TIMEOUT}, which layout.communication.timeoutMinutes sets`,
    fallback: 'leave one of them out',
  };
}

/** Of the layout, what stands in DeepSpeed's own file or follows from the number of ranks. */
const RENDERED_FIELDS = [
  'layout.tensorParallelDegree',
  'layout.pipelineParallelDegree',
  'layout.dataParallelDegree',
  'layout.contextParallelDegree',
  'layout.dataParallelShardDegree',
  'layout.sequence.contextAlgorithm',
  'layout.states',
  'layout.memory.offload',
  'layout.memory.hostMemoryGibPerGpu',
  'layout.communication',
  'layout.kernel.precision',
  'layout.checkpointPolicy',
];

interface Note {
  readonly applies: (spec: EffectiveSpec) => boolean;
  readonly text: string;
}

const NOTES: readonly Note[] = [
  {
    applies: ({ checkpoint }) => checkpoint !== undefined,
    text: 'The script saves into COXSWAIN_SAVE_DIR, and loads from COXSWAIN_RESUME_ROOT the tag that COXSWAIN_RESUME_FROM ends with.',
  },
  {
    applies: ({ layout }) => isUniversal(layout),
    text: 'checkpoint.load_universal is set: what is resumed from has to be converted by ds_to_universal before.',
  },
  {
    applies: ({ training }) => training?.schedule === undefined,
    text: 'training.schedule is absent: the script makes its own schedule, with warm-up and minimum rate from job.json.',
  },
  {
    applies: ({ training }) => training?.schedule?.name === 'linear',
    text: 'WarmupDecayLR falls to 0 and ignores training.minLearningRate.',
  },
  {
    applies: ({ training }) => training?.schedule !== undefined && training.warmupSteps < 2,
    text: 'DeepSpeed warms up for two steps at least.',
  },
  {
    applies: ({ layout }) => layout.pipelineParallelDegree > 1,
    text: 'The script makes a PipelineModule with as many stages as pipeline.stages of the rendered file.',
  },
  {
    applies: ({ layout }) => (layout.contextParallelDegree ?? 1) > 1,
    text: 'The script registers Ulysses (UlyssesSPAttentionHF) with sequence_parallel_size.',
  },
  {
    applies: ({ layout }) => layout.expert !== undefined && isAutomatic(layout),
    text: 'DeepSpeed finds the experts of a Hugging Face model itself (AutoEP).',
  },
  {
    applies: ({ layout }) => layout.expert !== undefined && !isAutomatic(layout),
    text: 'The script makes its MoE layers (deepspeed.moe.layer.MoE) from layout.expert in job.json.',
  },
  {
    applies: ({ layout }) =>
      layout.memory?.recompute?.mode === 'full' ||
      layout.memory?.offload?.some(({ what }) => what === 'activations') === true,
    text: 'Recomputation is configured; the script calls deepspeed.checkpointing around its layers.',
  },
];

function notesOf(spec: EffectiveSpec): readonly string[] {
  const applying = NOTES.filter(({ applies }) => applies(spec)).map(({ text }) => text);
  return [...applying, ...jobFileFields(spec, RENDERED_FIELDS), ...ignoredFields(spec.layout)];
}
