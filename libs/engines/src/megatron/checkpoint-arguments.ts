/** Renders checkpoints for Megatron-LM: what it saves, in which format, and from which weights it starts. */
import { POD_PATHS } from '@coxswain/api-types';
import { megatronFormat, startFormats, TORCH_DIST, torchDistConverter } from '@coxswain/checkpoint';
import { FORMAT_OF_SHARDING, type LayoutCheckpointFormat } from '@coxswain/layout';
import { inside } from '../paths.ts';
import {
  type MegatronJob,
  byDefault,
  flag,
  flagOf,
  kept,
  note,
  refuse,
  switchOf,
  type RenderedField,
} from './rendered-field.ts';
import { isFsdp, stateImplementation } from './state-arguments.ts';

/** The format that fits every state that FSDP does not shard. */
const PLAIN_FORMAT = TORCH_DIST.megatron.layoutFormat;
const MEGATRON_FSDP = 'megatron-fsdp';

/** The format of checkpoints, as a layout names it, also where this layout leaves it out. */
function checkpointFormat({ layout }: Pick<MegatronJob, 'layout'>): LayoutCheckpointFormat {
  const isMegatronFsdp = stateImplementation({ layout }) === MEGATRON_FSDP;
  return layout.checkpointPolicy?.format ?? (isMegatronFsdp ? FORMAT_OF_SHARDING[MEGATRON_FSDP] : PLAIN_FORMAT);
}

/** Arguments for checkpoints, their format and initial weights. */
export function checkpointArguments(job: MegatronJob): readonly RenderedField[] {
  return [...saveArguments(job), ...formatArguments(job), ...policyArguments(job), ...initialArguments(job)];
}

/** `--load` is rendered only if the ranks resume from a checkpoint, because each incarnation saves to a new directory. */
function saveArguments({ spec: { checkpoint } }: MegatronJob): readonly RenderedField[] {
  if (checkpoint === undefined) return [];
  return [
    ...flag('checkpoint.claimName', '--save', '$(COXSWAIN_SAVE_DIR)'),
    ...kept('checkpoint.path', 'checkpoint.interval'),
    ...flag('checkpoint.everySteps', '--save-interval', checkpoint.everySteps),
    // Megatron-LM saves and exits on SIGTERM.
    ...byDefault('--exit-signal-handler'),
  ];
}

/** Arguments that the launcher adds if the ranks resume from a checkpoint. */
export const RESUME_ARGUMENTS: readonly string[] = [
  '--load',
  '$(COXSWAIN_RESUME_ROOT)',
  '--ckpt-step',
  '$(COXSWAIN_RESUME_STEP)',
];

/** validate_args of every release: which format goes with which sharding. */
function formatArguments(job: MegatronJob): readonly RenderedField[] {
  const { layout, spec } = job;
  const field = 'layout.checkpointPolicy.format';
  const format = checkpointFormat(job);
  const implementation = stateImplementation(job);
  const use = megatronFormat(format);
  if (use === undefined)
    return refuse('format-of-megatron', field, `Megatron-LM does not save ${format}`, `use ${PLAIN_FORMAT}`);
  const needs = shardingOf(format);
  if (needs !== undefined && needs !== implementation)
    return refuse(
      'format-fits-states',
      field,
      `checkpoints of format ${format} go with states.implementation ${needs}, which is ${implementation}`,
      'leave checkpointPolicy.format out',
    );
  if (use.excludesFsdp === true && isFsdp(job))
    return refuse(
      'format-fits-states',
      field,
      `states that ${implementation} shards are not saved in the legacy format`,
      'leave checkpointPolicy.format out',
    );
  if (use.isDataParallelOnly === true && (layout.tensorParallelDegree > 1 || layout.pipelineParallelDegree > 1))
    return refuse(
      'torch-dcp-is-data-parallel',
      field,
      `Megatron-LM saves ${format} only without tensor and pipeline parallelism`,
      `use ${PLAIN_FORMAT}`,
    );
  if (!use.isObserved && spec.checkpoint !== undefined)
    return refuse(
      'checkpoints-are-seen',
      'checkpoint',
      `a checkpoint of format ${use.option} cannot be recognised as complete, so the job would never resume from one`,
      `save ${PLAIN_FORMAT}, which goes with distributed-optimizer and ddp, or leave checkpoint out`,
    );
  const isGiven = layout.checkpointPolicy?.format !== undefined;
  return flag(isGiven ? field : 'layout.states.implementation', '--ckpt-format', use.option);
}

/** The implementation of sharding whose state only this format holds; undefined for other formats. */
function shardingOf(format: LayoutCheckpointFormat): string | undefined {
  return Object.entries(FORMAT_OF_SHARDING).find(([, only]) => only === format)?.[0];
}

function policyArguments(job: MegatronJob): readonly RenderedField[] {
  const { checkpointPolicy: policy } = job.layout;
  if (policy === undefined) return [];
  const field = 'layout.checkpointPolicy';
  const { optimizerReshard, asyncSave, localEverySteps } = policy;
  return [
    ...(optimizerReshard === 'full' ? reshard(job) : kept(`${field}.optimizerReshard`)),
    // Without the worker Megatron-LM drops --async-save and only its log says so.
    ...switchOf(`${field}.asyncSave`, '--async-save', asyncSave),
    ...switchOf(`${field}.asyncSave`, '--use-persistent-ckpt-worker', asyncSave),
    ...(localEverySteps === undefined ? withoutLocal(policy.localReplicas) : local(job, localEverySteps)),
  ];
}

/** Bought when saving; states of the distributed optimizer come back only on the same tensor and pipeline degrees otherwise. */
function reshard(job: MegatronJob): readonly RenderedField[] {
  const field = 'layout.checkpointPolicy.optimizerReshard';
  if (stateImplementation(job) !== 'distributed-optimizer')
    return note(field, 'optimizer states that are not sharded are read by any layout');
  if (job.layout.checkpointPolicy?.localEverySteps !== undefined)
    return refuse(
      'local-copies-are-not-resharded',
      field,
      'local checkpoints of Megatron-LM are read by the layout that saved them alone',
      'leave checkpointPolicy.localEverySteps out, or optimizerReshard',
    );
  return flag(field, '--dist-ckpt-optim-fully-reshardable');
}

function withoutLocal(replicas: number | undefined): readonly RenderedField[] {
  if (replicas === undefined) return [];
  return refuse(
    'replicas-of-local-copies',
    'layout.checkpointPolicy.localReplicas',
    'localReplicas counts local copies, and the layout asks for none',
    'give checkpointPolicy.localEverySteps',
  );
}

/** In the scratch of the pod, which its node has; the package nvidia_resiliency_ext saves there, and must be in the image. */
function local({ layout, spec }: MegatronJob, everySteps: number): readonly RenderedField[] {
  const field = 'layout.checkpointPolicy';
  const replicas = layout.checkpointPolicy?.localReplicas ?? 1;
  if (spec.scratch === undefined)
    return refuse(
      'local-copies-need-scratch',
      `${field}.localEverySteps`,
      'copies on the nodes are kept in the scratch of a pod, and the job has none',
      'give scratch, or leave checkpointPolicy.localEverySteps out',
    );
  return [
    ...flag(`${field}.localEverySteps`, '--non-persistent-save-interval', everySteps),
    ...flag(`${field}.localEverySteps`, '--non-persistent-ckpt-type', 'local'),
    ...flag(`${field}.localEverySteps`, '--non-persistent-local-ckpt-dir', `${POD_PATHS.scratch}/checkpoints`),
    ...note(`${field}.localEverySteps`, 'the image needs nvidia_resiliency_ext for copies on the nodes'),
    ...(replicas === 1
      ? kept(`${field}.localReplicas`)
      : [
          ...flag(`${field}.localReplicas`, '--replication'),
          ...flag(`${field}.localReplicas`, '--replication-factor', replicas),
          ...flagOf(`${field}.localReplicas`, '--replication-jump', layout.tensorParallelDegree),
        ]),
  ];
}

/** Loaded where --load has nothing, and then as fine-tuning: no optimizer states, no step (megatron/training/checkpointing.py, load_checkpoint). */
function initialArguments({ spec: { initialWeights } }: MegatronJob): readonly RenderedField[] {
  if (initialWeights === undefined) return [];
  const { format, path } = initialWeights;
  const taken = startFormats('megatron-lm');
  if (!taken.includes(format))
    return refuse(
      'initial-weights-of-megatron',
      'initialWeights.format',
      `Megatron-LM begins with weights in ${taken.join(' or ')}, not in ${format}`,
      `convert them by ${torchDistConverter(format)}`,
    );
  return [
    ...flag('initialWeights.path', '--pretrained-checkpoint', inside(POD_PATHS.initialWeights, path)),
    ...kept('initialWeights.claimName', 'initialWeights.format'),
  ];
}
