import { DEFAULT_MICRO_BATCH_SIZE, type EffectiveSpec, stepsOf, type TrainingJobSpec } from '@coxswain/api-types';
import { engineSupport, ParallelLayout } from '@coxswain/layout';
import type { EngineRefusal } from './engine-refusal.ts';
import { modelOfJob } from './model-of-job.ts';
import { referenceRefusal } from './reference-refusal.ts';

/**
 * Paths as the engine sees them inside its container; absent where the job has no such thing. Where it saves and what it resumes from changes with
 * each start of the ranks, so it is no part of the command: the launcher says it in their environment (`RANK_ENV`).
 */
export interface RankContext {
  readonly dataPath?: string;
}

/** The command of one rank, the same for every rank: a rank learns who it is from the environment that its launcher adds. */
export type RenderedRank =
  | { readonly kind: 'rendered'; readonly command: readonly string[]; readonly env: Readonly<Record<string, string>> }
  | ({ readonly kind: 'refused' } & EngineRefusal);

/** Command and environment of one rank, or why this engine cannot run the spec. A flag that an engine lacks is refused, never dropped. */
export function renderRank(spec: EffectiveSpec, context: RankContext): RenderedRank {
  return adapters[spec.engine.name](spec, context);
}

/**
 * Why the engine cannot run the spec at all, whatever the epoch; undefined when it can. A layout that is still to be chosen is no reason: the
 * planner chooses among those that the engine can do.
 */
export function engineRefusal(spec: TrainingJobSpec): EngineRefusal | undefined {
  const rendered = renderRank(
    { ...spec, layout: spec.layout ?? ParallelLayout.parse({}) },
    {
      ...(spec.data?.path === undefined ? {} : { dataPath: spec.data.path }),
    },
  );
  return rendered.kind === 'refused' ? rendered : undefined;
}

const adapters: Readonly<
  Record<TrainingJobSpec['engine']['name'], (spec: EffectiveSpec, context: RankContext) => RenderedRank>
> = { reference: renderReference, command: renderCommand };

/** `command`: the program as given. It reads directories from the COXSWAIN_ variables of its pod. */
function renderCommand(spec: EffectiveSpec): RenderedRank {
  const { command, args } = spec.engine;
  if (command === undefined) {
    return refused('engine.command', {
      reason: 'engine.name "command" needs engine.command',
      alternative: 'set engine.command to the program of one rank',
    });
  }
  const beyond = beyondEngine('command', spec.layout);
  if (beyond !== undefined) return beyond;
  return { kind: 'rendered', command: [...command, ...(args ?? [])], env: userEnvironment(spec) };
}

/** `reference`: the PyTorch GPT of this project (`engines/reference`). */
function renderReference(spec: EffectiveSpec, context: RankContext): RenderedRank {
  const { model, training, layout } = spec;
  const refusal = referenceRefusal(spec);
  if (refusal !== undefined) return { kind: 'refused', ...refusal };
  if (model === undefined || training === undefined || context.dataPath === undefined || spec.checkpoint === undefined)
    throw new Error('a part without which engine "reference" is refused is missing');
  const beyond = beyondEngine('reference', layout);
  if (beyond !== undefined) return beyond;
  const shape = modelOfJob(model)?.model;
  const flags: readonly (readonly [string, string | number | undefined])[] = [
    ['--layers', shape?.layers],
    ['--hidden-size', shape?.hiddenSize],
    ['--attention-heads', shape?.attentionHeads],
    ['--sequence-length', model.sequenceLength],
    ['--tensor-parallel', layout.tensorParallelDegree],
    ['--pipeline-parallel', layout.pipelineParallelDegree],
    ['--data-parallel', layout.dataParallelDegree],
    ['--global-batch-size', training.globalBatchSize],
    ['--micro-batch-size', training.microBatchSize ?? DEFAULT_MICRO_BATCH_SIZE],
    ['--steps', stepsOf(spec)],
    ['--learning-rate', training.learningRate],
    ['--min-learning-rate', training.minLearningRate],
    ['--warmup-steps', training.warmupSteps],
    ['--weight-decay', training.weightDecay],
    ['--beta1', training.optimizer?.beta1],
    ['--beta2', training.optimizer?.beta2],
    ['--epsilon', training.optimizer?.epsilon],
    ['--clip-norm', training.optimizer?.clipNorm],
    ['--schedule', training.schedule?.name],
    ['--decay-steps', training.schedule?.decaySteps],
    ['--seed', training.seed],
    ['--precision', training.precision],
    ['--data', context.dataPath],
    ['--save-every', spec.checkpoint.everySteps],
  ];
  return {
    kind: 'rendered',
    command: [
      'python3',
      '-m',
      'coxswain_reference.train',
      ...flags.flatMap(([flag, value]) => (value === undefined ? [] : [flag, String(value)])),
      ...(spec.engine.args ?? []),
    ],
    env: userEnvironment(spec),
  };
}

function userEnvironment(spec: TrainingJobSpec): Readonly<Record<string, string>> {
  return Object.fromEntries((spec.engine.env ?? []).map(({ name, value }) => [name, value]));
}

/** The refusal of everything in the layout that the engine has no option for; undefined when there is nothing. */
function beyondEngine(engine: TrainingJobSpec['engine']['name'], layout: ParallelLayout): RenderedRank | undefined {
  const outcome = engineSupport(engine, layout);
  if (outcome.kind === 'supported') return undefined;
  const options = outcome.refusals.map(({ option, value }) => `layout.${option} ${value}`);
  const program = engine === 'command' ? 'the program' : 'a program of engine "command"';
  return refused(`layout.${outcome.refusals[0]?.option ?? ''}`, {
    reason: `engine "${engine}" cannot do ${options.join(', ')}`,
    alternative: `leave it out of the layout; ${program} can be told in engine.args`,
  });
}

function refused(field: string, why: Omit<EngineRefusal, 'field'>): RenderedRank {
  return { kind: 'refused', field, ...why };
}
