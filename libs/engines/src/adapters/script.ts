/** What engines have in common that run a script of the user. */
import type { EffectiveSpec } from '@coxswain/api-types';
import type { EngineRefusal } from '../engine-refusal.ts';
import { begunRefusal, insteadOf } from './arguments.ts';
import { filled } from './placeholders.ts';

/** The program and its arguments, with their placeholders filled. */
export interface Script {
  readonly program: readonly string[];
  readonly args: readonly string[];
  readonly mentioned: readonly string[];
}

/** The program of the user, or the refusal of a placeholder in it. */
export function scriptOf(spec: EffectiveSpec): Script | { readonly refusal: EngineRefusal } {
  const { name, command, args = [] } = spec.engine;
  if (command === undefined)
    return {
      refusal: {
        rule: 'command-needs-a-program',
        field: 'engine.command',
        why: `engine "${name}" needs engine.command`,
        fallback: 'set engine.command to the program of one rank',
      },
    };
  const program = filled(command, 'engine.command', spec);
  if ('refusal' in program) return program;
  const rest = filled(args, 'engine.args', spec);
  if ('refusal' in rest) return rest;
  return { program: program.args, args: rest.args, mentioned: [...program.mentioned, ...rest.mentioned] };
}

/** Arguments that the adapter gives itself. */
export function ownArgument(args: readonly string[], owners: ReadonlyMap<string, string>): EngineRefusal | undefined {
  for (const argument of args) {
    const [written = ''] = argument.split('=', 1);
    if (!written.startsWith('--')) continue;
    const owner = owners.get(written.slice(2).replaceAll('-', '_'));
    const begun = begunRefusal(written.slice(2), [...owners.keys()], (option) => owners.get(option));
    if (owner === undefined && begun !== undefined) return begun;
    if (owner === undefined) continue;
    return {
      rule: 'argument-is-said-by-the-job',
      field: 'engine.args',
      why: `engine.args holds ${written}, which ${owner} sets`,
      fallback: insteadOf(owner),
    };
  }
  return undefined;
}
