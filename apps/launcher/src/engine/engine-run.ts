/** The rendered command and files of the engine, with variables of a rank filled in. */
import { EngineRun, POD_ENV, RANK_ENV, replaceReferences, type SavedBy } from '@coxswain/api-types';
import type { EngineFormat } from '@coxswain/checkpoint';

/** Environment variables by name; undefined if unset. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** The engine facts of the operator; undefined if an older operator created the pod. */
export function engineRunOf(environment: Variables): EngineRun | undefined {
  const text = environment[POD_ENV.engineRun];
  return text === undefined ? undefined : EngineRun.parse(JSON.parse(text));
}

/** Facts of steps beside the reports of ranks: the format of printed lines, and tokens per step. */
export type StepWords = Pick<EngineRun, 'stepLines' | 'tokensPerStep'>;

/** Who starts the ranks of a pod; the launcher if the variable cannot be parsed. */
export function starterOf(environment: Variables): EngineRun['startedBy'] {
  try {
    return engineRunOf(environment)?.startedBy ?? 'launcher';
  } catch {
    return 'launcher';
  }
}

type Saving = Pick<EngineRun, 'checkpoints' | 'savedBy'>;

/** Empty if unknown, or if the variable cannot be parsed; the start of the ranks reports that error. */
export function stepWordsOf(environment: Variables): StepWords & Saving {
  try {
    return engineRunOf(environment) ?? {};
  } catch {
    return {};
  }
}

/** The format in which the engine saves, and what a manifest says of it; undefined if the engine writes manifests itself, or the variable cannot be parsed. */
export function engineSavingOf(
  environment: Variables,
): { readonly format: EngineFormat; readonly savedBy: SavedBy } | undefined {
  const { checkpoints: format, savedBy } = stepWordsOf(environment);
  return format === undefined || savedBy === undefined ? undefined : { format, savedBy };
}

/**
 * `text` with the variable in place of each `$(NAME)`, and one dollar sign in place of two. A name that is no variable stays as it is, as it does where
 * the kubelet replaces names.
 */
export function expand(text: string, variables: Variables): string {
  return replaceReferences(text, (name) => variables[name]);
}

/** The command with variables of its process in place of their names, and what is added for a resumed start; as it is where no adapter rendered it. */
export function commandOf(
  command: readonly [string, ...string[]],
  run: EngineRun | undefined,
  env: Variables,
): readonly [string, ...string[]] {
  if (run === undefined) return command;
  const [program, ...args] = command;
  const resumed = env[RANK_ENV.resumeFrom] === undefined ? [] : run.resumeArgs;
  return [expand(program, env), ...[...args, ...resumed].map((arg) => expand(arg, env))];
}
