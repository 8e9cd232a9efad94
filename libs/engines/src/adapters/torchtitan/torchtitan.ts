/** `torchtitan`: PyTorch's own trainer of its own models. */
import { ENGINE_RELEASES, type EffectiveSpec, RANK_ENV } from '@coxswain/api-types';
import { refused, type Rendering } from '../../rendering.ts';
import { savedCheckpoints } from '../../saved-checkpoints.ts';
import { unsupportedOption } from '../unsupported-option.ts';
import { firstRefusal } from '../check.ts';
import { userEnvironment } from '../user-environment.ts';
import { argumentsRefusal } from './arguments.ts';
import { MODULE_REFUSALS, renderModule } from './module.ts';
import { notesOf } from './notes.ts';
import { REFUSALS } from './refusals.ts';
import { renderToml, TOML_REFUSALS } from './toml.ts';

const NEWEST = ENGINE_RELEASES.torchtitan[0];

/** Renders a job for TorchTitan. */
export function renderTorchTitan(spec: EffectiveSpec): Rendering {
  const { engine, layout, checkpoint } = spec;
  const release = engine.release ?? NEWEST;
  const isToml = release?.startsWith('v0.2') === true;
  const beyond = unsupportedOption(isToml ? 'torchtitan-toml' : 'torchtitan', layout);
  const refusal =
    beyond ??
    firstRefusal([...REFUSALS, ...(isToml ? TOML_REFUSALS : MODULE_REFUSALS)], spec) ??
    argumentsRefusal(spec, isToml);
  if (refusal !== undefined) return refused(refusal);
  const hostMemory = layout.memory?.hostMemoryGibPerGpu;
  return {
    kind: 'rendered',
    ...(release === undefined ? {} : { release }),
    ...(isToml ? renderToml(spec) : renderModule(spec)),
    startedBy: engine.startedBy ?? 'launcher',
    resumeArgs: checkpoint === undefined ? [] : RESUME,
    env: userEnvironment(spec),
    ports: [],
    ...(hostMemory === undefined ? {} : { hostMemoryGibPerGpu: hostMemory }),
    stepLines: 'torchtitan',
    ...savedCheckpoints('torchtitan'),
    notes: notesOf(spec, isToml),
  };
}

/** Loads the whole state, in TorchTitan's own format, whatever weights the first attempt started from. */
const RESUME = [
  `--checkpoint.initial-load-path=$(${RANK_ENV.resumeFrom})`,
  '--checkpoint.no-initial-load-model-only',
  '--checkpoint.no-initial-load-in-hf',
];
