/** The four engines whose saves are damaged, on two ranks each, and what their files are. */
import { type TrainingJobSpec, TrainingJobSpec as Spec } from '@coxswain/api-types';
import { deepSpeed, torchTitan, trainer } from '../engines/jobs.ts';
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
  readonly optimizerHolds: 'moments of each parameter' | 'masters of each parameter';
}

/** More than any run reaches: it is suspended. */
const STEPS = 10_000;
const DCP: SaveParts = { shard: /^__\d+_\d+\.distcp$/, marker: /^\.metadata$/ };

/** A job that does not end by itself. */
function endless(spec: TrainingJobSpec, everySteps: number): TrainingJobSpec {
  const { training, checkpoint } = spec;
  if (training === undefined || checkpoint === undefined) throw new Error('the job trains nothing or saves nothing');
  return Spec.parse({
    ...spec,
    training: { ...training, steps: STEPS },
    checkpoint: { ...checkpoint, everySteps },
    restartPolicy: { maxRestarts: 2, delaySeconds: 0 },
  });
}

/** The Trainer prints the loss of ten steps on one line if a job has many. */
function loggingEachStep({ engine, ...spec }: TrainingJobSpec): TrainingJobSpec {
  return Spec.parse({ ...spec, engine: { ...engine, args: [...(engine.args ?? []), '--logging_steps=1'] } });
}

const MOMENTS = { optimizerHolds: 'moments of each parameter', worldSize: 2 } as const;

/** By the name that the campaign takes. */
export const DAMAGED_ENGINES: readonly DamagedEngine[] = [
  {
    name: 'reference',
    spec: endless(gptSpec({ layout: { tensorParallelDegree: 2 } }), 20),
    parts: DCP,
    library: 'dcp',
    losses: 'api',
    ...MOMENTS,
  },
  {
    name: 'hugging-face',
    spec: endless(loggingEachStep(trainer().spec), 10),
    parts: { shard: /^model\.safetensors$/, marker: /^trainer_state\.json$/ },
    library: 'hugging-face',
    losses: 'api',
    ...MOMENTS,
  },
  {
    name: 'deepspeed',
    spec: endless(deepSpeed({ dataParallelDegree: 2, states: { zeroStage: 2 } }).spec, 10),
    parts: { shard: /_optim_states\.pt$/, marker: /_model_states\.pt$/ },
    library: 'deepspeed',
    losses: 'log',
    worldSize: 2,
    optimizerHolds: 'masters of each parameter',
  },
  {
    name: 'torchtitan',
    spec: endless(Spec.parse({ ...torchTitan().spec, layout: { dataParallelDegree: 2, states: { zeroStage: 3 } } }), 6),
    parts: DCP,
    library: 'dcp',
    losses: 'api',
    ...MOMENTS,
  },
];
