/** What was rendered for the engine, and how do variables of a rank come into it? */
import { EngineRun, POD_ENV } from '@coxswain/api-types';

/** What the operator told of the engine; undefined where one of a release that tells nothing made the pod. */
export function engineRunOf(environment: Readonly<Record<string, string | undefined>>): EngineRun | undefined {
  const text = environment[POD_ENV.engineRun];
  return text === undefined ? undefined : EngineRun.parse(JSON.parse(text));
}

/**
 * `text` with the variable in place of each `$(NAME)`, and one dollar sign in place of two. A name that is no variable stays as it is, as it does where
 * the kubelet replaces names.
 */
export function expand(text: string, variables: Readonly<Record<string, string | undefined>>): string {
  return text.replaceAll(/\$(?:\$|\(([A-Za-z_][A-Za-z0-9_]*)\))/g, (whole, name: string | undefined) =>
    name === undefined ? '$' : (variables[name] ?? whole),
  );
}
