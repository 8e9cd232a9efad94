import type { EffectiveSpec } from '@coxswain/api-types';
import type { EngineRefusal } from '../engine-refusal.ts';
import { RESUME_ARGUMENTS } from '../megatron/checkpoint-arguments.ts';
import { megatronArguments, fieldRefusals } from '../megatron/megatron-arguments.ts';
import { MEGATRON_RELEASES, megatronRelease, type MegatronRelease } from '../megatron/releases.ts';
import type { MegatronJob, RenderedField } from '../megatron/rendered-field.ts';
import { argumentRefusal, passedThrough } from '../megatron/user-arguments.ts';
import { modelOfJob } from '../model-of-job.ts';
import { literally, refused, type RenderContext, type Rendering } from '../rendering.ts';
import { savedCheckpoints } from '../saved-checkpoints.ts';
import { userEnvironment } from './user-environment.ts';

/** `megatron-lm`: a program of NVIDIA/Megatron-LM, configured by its arguments alone. */
export function renderMegatronLm(spec: EffectiveSpec, context: RenderContext): Rendering {
  const release = megatronRelease(spec.engine.release);
  if (release === undefined) return refused(unknownRelease(spec.engine.release ?? ''));
  const job = toMegatronJob(spec, { context, release });
  const fields = megatronArguments(job);
  const refusal =
    fieldRefusals(job, fields)[0] ?? argumentRefusal(job, fields) ?? variableRefusal(spec, variablesOf(fields));
  if (refusal !== undefined) return refused(refusal);
  const { hostMemoryGibPerGpu } = spec.layout.memory ?? {};
  return {
    kind: 'rendered',
    release: release.tag,
    startedBy: spec.engine.startedBy ?? 'launcher',
    command: [...programOf(job).map(literally), ...argumentsOf(fields), ...(spec.engine.args ?? []).map(literally)],
    resumeArgs: spec.checkpoint === undefined ? [] : [...RESUME_ARGUMENTS],
    files: fields.flatMap((one) => (one.kind === 'file' ? [{ path: one.path, text: one.text }] : [])),
    env: { ...userEnvironment(spec), ...variablesOf(fields) },
    ports: [],
    stepLines: 'megatron',
    ...(spec.checkpoint === undefined ? {} : savedCheckpoints('megatron-lm')),
    ...(hostMemoryGibPerGpu === undefined ? {} : { hostMemoryGibPerGpu }),
    notes: notesOf(job, fields),
  };
}

function unknownRelease(given: string): EngineRefusal {
  return {
    rule: 'release-is-known',
    field: 'engine.release',
    why: `the options of Megatron-LM ${given} are not known`,
    fallback: `give the release in the image, among ${MEGATRON_RELEASES.map(({ tag }) => tag).join(', ')}, or another patch of one of these`,
  };
}

/** Collects what rendering a job for Megatron-LM depends on. */
export function toMegatronJob(
  spec: EffectiveSpec,
  {
    context,
    release,
    engine = 'megatron-lm',
  }: { readonly context: RenderContext; readonly release: MegatronRelease; readonly engine?: MegatronJob['engine'] },
): MegatronJob {
  const shape = spec.model === undefined ? undefined : modelOfJob(spec.model)?.model;
  const isBlackwell = /^(g?b[23]\d\d)/i.test(context.gpu ?? '');
  const program = spec.engine.command === undefined ? undefined : programNamed(spec.engine.command);
  const isHybrid = shape?.layerPattern !== undefined;
  return {
    spec,
    layout: spec.layout,
    shape,
    engine,
    release,
    program: program ?? (isHybrid ? 'hybrid' : 'gpt'),
    isBlackwell,
  };
}

const PROGRAMS: Readonly<Record<string, MegatronJob['program']>> = {
  'pretrain_gpt.py': 'gpt',
  'pretrain_mamba.py': 'hybrid',
  'pretrain_hybrid.py': 'hybrid',
  'pretrain_bert.py': 'bert',
};

function programNamed(command: readonly string[]): MegatronJob['program'] {
  const known = command.flatMap((word) => PROGRAMS[word.split('/').at(-1) ?? ''] ?? []);
  return known[0] ?? 'own';
}

/** What the image has in its working directory; hybrids have a program of their own, which was renamed in core_v0.18. */
function programOf({ spec, program, release }: MegatronJob): readonly string[] {
  if (spec.engine.command !== undefined) return spec.engine.command;
  const hybrid = release.minor < 18 ? 'pretrain_mamba.py' : 'pretrain_hybrid.py';
  return ['python3', program === 'hybrid' ? hybrid : 'pretrain_gpt.py'];
}

/** Each option once; the first value counts. Values that lead into directories of the pod keep their `$(NAME)`. */
export function argumentsOf(fields: readonly RenderedField[]): readonly string[] {
  const options = fields.flatMap((one) => (one.kind === 'flag' || one.kind === 'default' ? [one] : []));
  const once = options.filter(({ flag }, index) => options.findIndex((other) => other.flag === flag) === index);
  return once.flatMap(({ flag, values }) => [flag, ...values]);
}

/** The environment variables among rendered fields. */
export function variablesOf(fields: readonly RenderedField[]): Readonly<Record<string, string>> {
  return Object.fromEntries(fields.flatMap((one) => (one.kind === 'variable' ? [[one.name, one.value]] : [])));
}

/** The refusal of the user's first variable that contradicts a rendered one; undefined if all can stay. */
export function variableRefusal(
  spec: EffectiveSpec,
  ours: Readonly<Record<string, string>>,
): EngineRefusal | undefined {
  const theirs = (spec.engine.env ?? []).find(({ name, value }) => (ours[name] ?? value) !== value);
  const name = theirs?.name ?? (spec.engine.secretEnv ?? []).find((one) => ours[one.name] !== undefined)?.name;
  if (name === undefined) return undefined;
  return {
    rule: 'variables-agree-with-job',
    field: theirs === undefined ? 'engine.secretEnv' : 'engine.env',
    why: `this layout needs ${name}=${ours[name] ?? ''}`,
    fallback: `leave ${name} out`,
  };
}

function notesOf(job: MegatronJob, fields: readonly RenderedField[]): readonly string[] {
  const { spec, release } = job;
  const notes = fields.flatMap((one) => (one.kind === 'note' ? [one.text] : []));
  const chosen =
    spec.engine.release === undefined ? [`rendered for ${release.tag}, the newest release that is known`] : [];
  const passed = passedThrough(job);
  return [...new Set([...chosen, ...notes, ...(passed === undefined ? [] : [passed])])];
}
