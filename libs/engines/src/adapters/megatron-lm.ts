import type { EffectiveSpec } from '@coxswain/api-types';
import type { EngineRefusal } from '../engine-refusal.ts';
import { RESUME_ARGUMENTS } from '../megatron/checkpoint-arguments.ts';
import { megatronWords, wordRefusals } from '../megatron/megatron-arguments.ts';
import { MEGATRON_RELEASES, megatronRelease, type MegatronRelease } from '../megatron/releases.ts';
import type { Asked, Told } from '../megatron/rendered-field.ts';
import { argumentRefusal } from '../megatron/user-arguments.ts';
import { modelOfJob } from '../model-of-job.ts';
import { literally, refused, type RenderContext, type Rendering } from '../rendering.ts';
import { savedCheckpoints } from '../saved-checkpoints.ts';
import { userEnvironment } from './user-environment.ts';

/** `megatron-lm`: a program of NVIDIA/Megatron-LM, told everything in its arguments. */
export function renderMegatronLm(spec: EffectiveSpec, context: RenderContext): Rendering {
  const release = megatronRelease(spec.engine.release);
  if (release === undefined) return refused(unknownRelease(spec.engine.release ?? ''));
  const asked = askedOf(spec, { context, release });
  const told = megatronWords(asked);
  const refusal =
    wordRefusals(asked, told)[0] ?? argumentRefusal(asked, told) ?? variableRefusal(spec, variablesOf(told));
  if (refusal !== undefined) return refused(refusal);
  const { hostMemoryGibPerGpu } = spec.layout.memory ?? {};
  return {
    kind: 'rendered',
    release: release.tag,
    startedBy: spec.engine.startedBy ?? 'launcher',
    command: [...programOf(asked).map(literally), ...argumentsOf(told), ...(spec.engine.args ?? []).map(literally)],
    resumeArgs: spec.checkpoint === undefined ? [] : [...RESUME_ARGUMENTS],
    files: told.flatMap((one) => (one.kind === 'file' ? [{ path: one.path, text: one.text }] : [])),
    env: { ...userEnvironment(spec), ...variablesOf(told) },
    ports: [],
    stepLines: 'megatron',
    ...(spec.checkpoint === undefined ? {} : savedCheckpoints('megatron-lm')),
    ...(hostMemoryGibPerGpu === undefined ? {} : { hostMemoryGibPerGpu }),
    notes: notesOf(spec, { release, told }),
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

/** What the words of a job are told by. */
export function askedOf(
  spec: EffectiveSpec,
  {
    context,
    release,
    engine = 'megatron-lm',
  }: { readonly context: RenderContext; readonly release: MegatronRelease; readonly engine?: Asked['engine'] },
): Asked {
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

const PROGRAMS: Readonly<Record<string, Asked['program']>> = {
  'pretrain_gpt.py': 'gpt',
  'pretrain_mamba.py': 'hybrid',
  'pretrain_hybrid.py': 'hybrid',
  'pretrain_bert.py': 'bert',
};

function programNamed(command: readonly string[]): Asked['program'] {
  const known = command.flatMap((word) => PROGRAMS[word.split('/').at(-1) ?? ''] ?? []);
  return known[0] ?? 'own';
}

/** What the image has in its working directory; hybrids have a program of their own, which was renamed in core_v0.18. */
function programOf({ spec, program, release }: Asked): readonly string[] {
  if (spec.engine.command !== undefined) return spec.engine.command;
  const hybrid = release.minor < 18 ? 'pretrain_mamba.py' : 'pretrain_hybrid.py';
  return ['python3', program === 'hybrid' ? hybrid : 'pretrain_gpt.py'];
}

/** Each option once, as it was told first; values that lead into a pod's directories keep their `$(NAME)`. */
export function argumentsOf(told: readonly Told[]): readonly string[] {
  const options = told.flatMap((one) => (one.kind === 'flag' || one.kind === 'default' ? [one] : []));
  const once = options.filter(({ flag }, index) => options.findIndex((other) => other.flag === flag) === index);
  return once.flatMap(({ flag, values }) => [flag, ...values]);
}

export function variablesOf(told: readonly Told[]): Readonly<Record<string, string>> {
  return Object.fromEntries(told.flatMap((one) => (one.kind === 'variable' ? [[one.name, one.value]] : [])));
}

/** What the user's variables contradict; undefined where all may stay. */
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

function notesOf(
  spec: EffectiveSpec,
  { release, told }: { readonly release: MegatronRelease; readonly told: readonly Told[] },
): readonly string[] {
  const notes = told.flatMap((one) => (one.kind === 'note' ? [one.text] : []));
  const chosen =
    spec.engine.release === undefined ? [`rendered for ${release.tag}, the newest release that is known`] : [];
  return [...new Set([...chosen, ...notes])];
}
