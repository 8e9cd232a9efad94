/** Jobs of engines of others, small enough for two cores: engines/upstream/programs holds the scripts that a user would write. */
import { type ENGINE_CHECKPOINTS, TrainingJobSpec, type TrainingJobSpecInput } from '@coxswain/api-types';
import { LOCAL_IMAGES } from '@coxswain/local-cluster';
import { join } from 'node:path';

const PROGRAMS = join(import.meta.dirname, '../../engines/upstream/programs');

/** An engine and what is wanted of it. */
export interface EngineCase {
  readonly name: string;
  readonly spec: TrainingJobSpec;
  readonly format: (typeof ENGINE_CHECKPOINTS)[number];
  readonly steps: number;
  readonly saveEvery: number;
}

interface Options {
  readonly steps?: number;
  readonly saveEvery?: number;
  /** Between steps, so that there is time to meet a job that trains. */
  readonly stepDelayMs?: number;
  readonly startedBy?: 'launcher' | 'torchrun' | 'ft_launcher';
}

function specOf(overrides: Partial<TrainingJobSpecInput> & Pick<TrainingJobSpecInput, 'engine'>, saveEvery: number) {
  return TrainingJobSpec.parse({
    layout: { dataParallelDegree: 2 },
    checkpoint: { claimName: 'checkpoints', path: 'runs', everySteps: saveEvery },
    restartPolicy: { maxRestarts: 2, delaySeconds: 0 },
    terminationGracePeriodSeconds: 20,
    ...overrides,
  });
}

/** TorchTitan's own model and its own parallelism, with the CPU in the place of a GPU. */
export function torchTitan({ steps = 12, saveEvery = 3, startedBy }: Options = {}): EngineCase {
  const spec = specOf(
    {
      engine: {
        name: 'torchtitan',
        image: LOCAL_IMAGES.upstream,
        command: ['python3', '-m', 'coxswain_torchtitan_cpu'],
        ...(startedBy === undefined ? {} : { startedBy }),
      },
      model: {
        layers: 4,
        hiddenSize: 128,
        attentionHeads: 4,
        keyValueHeads: 2,
        vocabularySize: 512,
        sequenceLength: 128,
        ffnHiddenSize: 256,
        gatedMlp: true,
      },
      training: { steps, globalBatchSize: 8, microBatchSize: 2, learningRate: 0.001, precision: 'fp32' },
      data: { format: 'mock' },
      layout: { tensorParallelDegree: 2, dataParallelDegree: 2, states: { zeroStage: 3 } },
    },
    saveEvery,
  );
  return { name: 'torchtitan', spec, format: 'dcp', steps, saveEvery };
}

/** An unpatched DeepSpeed; `config` is its file, beside its script. */
export function deepSpeed(
  config: 'zero2' | 'universal' | 'autotp2',
  { steps = 60, saveEvery = 20, stepDelayMs = 100, startedBy = 'launcher' }: Options = {},
): EngineCase {
  const args = ['--deepspeed_config', join(PROGRAMS, `${config}.json`), '--steps', steps, '--save-every', saveEvery];
  const llama = config === 'autotp2' ? ['--llama'] : [];
  const spec = specOf(
    {
      engine: {
        name: 'command',
        image: LOCAL_IMAGES.upstream,
        command: [
          'python3',
          join(PROGRAMS, 'deepspeed_gpt2.py'),
          ...args,
          '--step-delay-ms',
          stepDelayMs,
          ...llama,
        ].map(String),
        checkpointFormat: 'deepspeed',
        startedBy,
      },
      ...(config === 'autotp2' ? { layout: { tensorParallelDegree: 2 } } : {}),
    },
    saveEvery,
  );
  return { name: `deepspeed-${config}`, spec, format: 'deepspeed', steps, saveEvery };
}

/** The Trainer of Transformers. */
export function trainer({ steps = 60, saveEvery = 20, stepDelayMs = 100 }: Options = {}): EngineCase {
  const flags = ['--use_cpu', '--ddp_backend', 'gloo', '--report_to', 'none', '--logging_steps', '1'];
  const places = ['--output_dir', '/tmp/not-kept', '--max_steps', steps, '--save_steps', saveEvery];
  const spec = specOf(
    {
      engine: {
        name: 'command',
        image: LOCAL_IMAGES.upstream,
        command: ['python3', join(PROGRAMS, 'trainer_gpt2.py'), ...places, ...flags].map(String),
        checkpointFormat: 'hugging-face',
        stepLines: 'hugging-face',
        env: [{ name: 'STEP_DELAY_MS', value: String(stepDelayMs) }],
      },
    },
    saveEvery,
  );
  return { name: 'trainer', spec, format: 'hugging-face', steps, saveEvery };
}

/** A script that knows of nobody, under torchrun or ft_launcher. */
export function plainScript({
  steps = 60,
  saveEvery = 20,
  stepDelayMs = 100,
  startedBy = 'torchrun',
}: Options = {}): EngineCase {
  const spec = specOf(
    {
      engine: {
        name: 'command',
        image: LOCAL_IMAGES.upstream,
        command: ['python3', join(PROGRAMS, 'plain_ddp.py'), String(steps), String(saveEvery)],
        startedBy,
        checkpointFormat: 'dcp',
        stepLines: 'torchtitan',
        env: [{ name: 'STEP_DELAY_MS', value: String(stepDelayMs) }],
      },
    },
    saveEvery,
  );
  return { name: startedBy, spec, format: 'dcp', steps, saveEvery };
}
