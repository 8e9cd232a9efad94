import type { EffectiveSpec } from '@coxswain/api-types';
import { literally, plainly, refused, type Rendering } from '../rendering.ts';
import { unsupportedOption } from './unsupported-option.ts';
import { userEnvironment } from './user-environment.ts';

/** `command`: the program as given. It reads directories from the COXSWAIN_ variables of its rank. */
export function renderCommand(spec: EffectiveSpec): Rendering {
  const { command, args, stepLines = 'plain', checkpointFormat } = spec.engine;
  if (command === undefined) {
    return refused({
      rule: 'command-needs-a-program',
      field: 'engine.command',
      why: 'engine.name "command" needs engine.command',
      fallback: 'set engine.command to the program of one rank',
    });
  }
  const beyond = unsupportedOption('command', spec.layout);
  if (beyond !== undefined) return refused(beyond);
  return {
    ...plainly([...command, ...(args ?? [])].map(literally), userEnvironment(spec)),
    stepLines,
    ...(checkpointFormat === undefined ? {} : { checkpoints: checkpointFormat }),
  };
}
