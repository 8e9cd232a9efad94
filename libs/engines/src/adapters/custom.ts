/** `custom`: a program of the user, which reads the job from placeholders in its arguments and from the job file. */
import type { EffectiveSpec } from '@coxswain/api-types';
import { refused, type Rendering } from '../rendering.ts';
import { unsupportedOption } from './unsupported-option.ts';
import { jobFile } from './job-file.ts';
import { jobFileFields } from './job-file-fields.ts';
import { scriptOf } from './script.ts';
import { userEnvironment } from './user-environment.ts';

/** Renders a program of the user. */
export function renderCustom(spec: EffectiveSpec): Rendering {
  const { engine, layout } = spec;
  const script = scriptOf(spec);
  if ('refusal' in script) return refused(script.refusal);
  const beyond = unsupportedOption('custom', layout);
  if (beyond !== undefined) return refused(beyond);
  const hostMemory = layout.memory?.hostMemoryGibPerGpu;
  return {
    kind: 'rendered',
    command: [...script.program, ...script.args],
    startedBy: engine.startedBy ?? 'launcher',
    resumeArgs: [],
    files: [jobFile(spec)],
    env: userEnvironment(spec),
    ports: [],
    ...(hostMemory === undefined ? {} : { hostMemoryGibPerGpu: hostMemory }),
    stepLines: engine.stepLines ?? 'plain',
    ...(engine.checkpointFormat === undefined ? {} : { checkpoints: engine.checkpointFormat }),
    notes: jobFileFields(spec, script.mentioned),
  };
}
