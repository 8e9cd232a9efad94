/** The four engines whose saves are damaged, on two ranks each, and what their files are. */
import { type TrainingJobSpec, TrainingJobSpec as Spec } from '@coxswain/api-types';
import { LOCAL_IMAGES } from '@coxswain/local-cluster';
import { deepSpeed, plainScript, torchTitan, trainer } from '../engines/jobs.ts';
import { gptSpec } from '../support/jobs.ts';
import type { SaveParts } from './damages.ts';

/** An engine, its job, and what is compared. */
export interface DamagedEngine {
  readonly name: string;
  readonly spec: TrainingJobSpec;
  readonly parts: SaveParts;
  /** Library that loads the saves, as load_saves.py calls it. */
  readonly library: 'dcp' | 'deepspeed' | 'hugging-face';
  /** Where losses come from: the API, or the lines of the script if the engine prints none that the launcher reads. */
  readonly losses: 'api' | 'log';
  readonly worldSize: number;
}

/** More than any run reaches, because it is suspended; and few enough that engines print the loss of each step or two. */
const STEPS = 400;
const DCP: SaveParts = { shard: /^__\d+_\d+\.distcp$/, marker: /^\.metadata$/ };

/** A job that does not end by itself. */
function endless(spec: TrainingJobSpec, everySteps: number, steps = STEPS): TrainingJobSpec {
  const { training, checkpoint } = spec;
  if (training === undefined || checkpoint === undefined) throw new Error('the job trains nothing or saves nothing');
  return Spec.parse({
    ...spec,
    training: { ...training, steps },
    checkpoint: { ...checkpoint, everySteps },
    restartPolicy: { maxRestarts: 2, delaySeconds: 0 },
  });
}

/** By the name that the campaign takes. */
export const DAMAGED_ENGINES: readonly DamagedEngine[] = [
  {
    name: 'reference',
    spec: endless(gptSpec({ layout: { tensorParallelDegree: 2 } }), 20),
    parts: DCP,
    library: 'dcp',
    losses: 'api',
    worldSize: 2,
  },
  {
    name: 'hugging-face',
    spec: endless(trainer().spec, 10),
    parts: { shard: /^model\.safetensors$/, marker: /^trainer_state\.json$/ },
    library: 'hugging-face',
    losses: 'api',
    worldSize: 2,
  },
  {
    name: 'deepspeed',
    spec: endless(deepSpeed({ dataParallelDegree: 2, states: { zeroStage: 2 } }).spec, 10),
    parts: { shard: /_optim_states\.pt$/, marker: /_model_states\.pt$/ },
    library: 'deepspeed',
    losses: 'log',
    worldSize: 2,
  },
  {
    name: 'torchtitan',
    spec: endless(
      Spec.parse({ ...torchTitan().spec, layout: { dataParallelDegree: 2, states: { zeroStage: 3 } } }),
      4,
      100,
    ),
    parts: DCP,
    library: 'dcp',
    losses: 'api',
    worldSize: 2,
  },
];

/** A script of a user under torchrun, which needs PyTorch alone: for tests that CI runs. */
export function plainEngine(): DamagedEngine {
  const { spec } = plainScript({ steps: 2000, saveEvery: 20, stepDelayMs: 20, engine: 'custom' });
  const engine = { ...spec.engine, image: LOCAL_IMAGES.reference };
  return {
    name: 'plain',
    spec: Spec.parse({ ...spec, engine }),
    parts: DCP,
    library: 'dcp',
    losses: 'api',
    worldSize: 2,
  };
}
