/** Jobs of engines of others, small enough for two cores: engines/upstream/programs holds the scripts that a user would write. */
import { type ENGINE_CHECKPOINTS, TrainingJobSpec, type TrainingJobSpecInput } from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import { LOCAL_IMAGES } from '@coxswain/local-cluster';
import { join } from 'node:path';
import type { z } from 'zod';

const PROGRAMS = join(import.meta.dirname, '../../engines/upstream/programs');

/** An engine and what is wanted of it. */
export interface EngineCase {
  readonly name: string;
  readonly spec: TrainingJobSpec;
  readonly format: (typeof ENGINE_CHECKPOINTS)[number];
  readonly steps: number;
  readonly saveEvery: number;
  /** Rank that is killed. */
  readonly victim: number;
  /** Whether it prints or tells the loss. */
  readonly tellsLoss: boolean;
  /** Of all ranks, where the job says it. */
  readonly tokensPerStep?: number;
  /** What a hook sees to be trained before anything is changed. */
  readonly seen: readonly RegExp[];
}

interface Options {
  readonly steps?: number;
  readonly saveEvery?: number;
  /** Between steps, so that there is time to meet a job that trains. */
  readonly stepDelayMs?: number;
  readonly engine?: 'command' | 'custom';
  /** Where it differs from what the program does. */
  readonly layout?: z.input<typeof ParallelLayout>;
  readonly startedBy?: 'launcher' | 'torchrun' | 'ft_launcher';
  /** Of two ranks each; the last rank of the last is the one that is killed. */
  readonly pods?: number;
}

const KNOWN = { victim: 1, tellsLoss: true } as const;
const WHOLE_COPIES = /DistributedDataParallel/;
/** Of deepspeed_gpt2.py and trainer_gpt2.py, as far as a job says it. */
const SCRIPT_MODEL = { layers: 4, hiddenSize: 64, attentionHeads: 4, vocabularySize: 256, sequenceLength: 32 } as const;

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
  const seen = [/ 4 ranks over /, /mesh .*\bdp_shard 2, .*\btp 2\b/, /FSDPModule/];
  return { ...KNOWN, name: 'torchtitan', spec, format: 'dcp', steps, saveEvery, tokensPerStep: 8 * 128, seen };
}

/** An unpatched DeepSpeed, and the file that the job becomes. */
export function deepSpeed(
  layout: z.input<typeof ParallelLayout>,
  { steps = 60, saveEvery = 20, stepDelayMs = 100, startedBy = 'launcher' }: Options = {},
): EngineCase {
  const words = ['--steps', '{training.steps}', '--save-every', '{checkpoint.everySteps}'];
  // DeepSpeed splits the layers of models that it knows.
  const model = (layout.tensorParallelDegree ?? 1) > 1 ? ['--llama'] : [];
  const spec = specOf(
    {
      engine: {
        name: 'deepspeed',
        image: LOCAL_IMAGES.upstream,
        command: ['python3', join(PROGRAMS, 'deepspeed_gpt2.py'), ...words],
        args: ['--step-delay-ms', String(stepDelayMs), ...model],
        startedBy,
      },
      model: SCRIPT_MODEL,
      training: { steps, globalBatchSize: 16, microBatchSize: 4, learningRate: 0.001, precision: 'fp32' },
      layout,
    },
    saveEvery,
  );
  const seen = [/ 2 ranks over gloo/, /DeepSpeedEngine/];
  const reporting = { tellsLoss: false, tokensPerStep: 16 * SCRIPT_MODEL.sequenceLength, seen };
  return { ...KNOWN, name: 'deepspeed', spec, format: 'deepspeed', steps, saveEvery, ...reporting };
}

/** The Trainer of Transformers. */
export function trainer({ steps = 60, saveEvery = 20, stepDelayMs = 100, layout }: Options = {}): EngineCase {
  const spec = specOf(
    {
      engine: {
        name: 'hugging-face',
        image: LOCAL_IMAGES.upstream,
        command: ['python3', join(PROGRAMS, 'trainer_gpt2.py')],
        args: ['--use_cpu', '--ddp_backend', 'gloo', '--report_to', 'none'],
        env: [{ name: 'STEP_DELAY_MS', value: String(stepDelayMs) }],
      },
      ...(layout === undefined ? {} : { layout }),
      model: { ...SCRIPT_MODEL, layers: 2 },
      training: { steps, globalBatchSize: 8, microBatchSize: 4, learningRate: 0.001, precision: 'fp32' },
    },
    saveEvery,
  );
  const reporting = { tokensPerStep: 8 * SCRIPT_MODEL.sequenceLength, seen: [/ 2 ranks over gloo/, WHOLE_COPIES] };
  return { ...KNOWN, name: 'trainer', spec, format: 'hugging-face', steps, saveEvery, ...reporting };
}

/** A script that knows of nobody, under torchrun or ft_launcher. */
export function plainScript({
  steps = 60,
  saveEvery = 20,
  stepDelayMs = 100,
  startedBy = 'torchrun',
  pods = 1,
  layout = {},
  engine = 'command',
}: Options = {}): EngineCase {
  const spec = specOf(
    {
      engine: {
        name: engine,
        image: LOCAL_IMAGES.upstream,
        command: ['python3', join(PROGRAMS, 'plain_ddp.py'), String(steps), String(saveEvery)],
        startedBy,
        checkpointFormat: 'dcp',
        stepLines: 'torchtitan',
        env: [{ name: 'STEP_DELAY_MS', value: String(stepDelayMs) }],
      },
      layout: { dataParallelDegree: 2 * pods, ...layout },
      resources: { gpusPerNode: 2 },
    },
    saveEvery,
  );
  const reporting = { victim: 2 * pods - 1, seen: [new RegExp(` ${2 * pods} ranks over gloo`), WHOLE_COPIES] };
  return { ...KNOWN, name: startedBy.replace('_', '-'), spec, format: 'dcp', steps, saveEvery, ...reporting };
}
